import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { AuditLog } from "../../src/services/ports/AuditLog.ts"
import { ConsoleSessions } from "../../src/services/ports/ConsoleSessions.ts"
import { access, consoleOn, operatorOn } from "./ConsoleClient.ts"

const theConsole = consoleOn([])

layer(access)("a lock-out of the console", (it) => {
  it.effect(
    "keeps a client out after ten wrong tokens of a name, with one answer for wrong, unknown and locked out, and its owner in elsewhere",
    () =>
      Effect.gen(function* () {
        const { browser } = yield* theConsole
        const token = yield* operatorOn("locked", "viewer")
        const answers = []
        for (let tries = 0; tries < 10; tries++) answers.push(yield* browser().logIn("locked", "op_wrong"))
        answers.push(yield* browser().logIn("locked", token))
        const plain = answers.map(({ status, text }) => `${status} ${text}`)
        expect(new Set(plain).size).toBe(1)
        const unknown = yield* browser().logIn("nobody", "op_wrong")
        expect(`${unknown.status} ${unknown.text.replace('value="nobody"', 'value="locked"')}`).toBe(plain[0])
        const [row] = (yield* (yield* AuditLog).list(50)).filter(({ subject }) => subject === "name locked from 127.0.0.1")
        expect([row?.actor, row?.action]).toEqual(["console", "console lock-out"])
        // Whoever knows a name keeps its owner out from nowhere else.
        expect((yield* browser("10.0.0.7").logIn("locked", token)).status).toBe(303)
        yield* TestClock.adjust("10 minutes")
        expect((yield* browser().logIn("locked", token)).status).toBe(303)
      })
  )

  it.effect("lets nobody in from a client after fifty wrong tokens of whatever names, and writes no more of them down", () =>
    Effect.gen(function* () {
      const { browser } = yield* theConsole
      const token = yield* operatorOn("innocent", "viewer")
      for (let tries = 0; tries < 60; tries++) yield* browser(`2001:db8:1:2::${tries}`).logIn(`guess-${tries}`, "op_wrong")
      expect((yield* browser("2001:db8:1:2:ffff::1").logIn("innocent", token)).status).toBe(401)
      expect((yield* browser("2001:db8:1:3::1").logIn("innocent", token)).status).toBe(303)
      const sessions = yield* ConsoleSessions
      const counted = yield* sessions.failures(["address 2001:db8:1:2", "name guess-55 from 2001:db8:1:2"], -1)
      expect(counted.map(({ failures, subject }) => [subject, failures])).toEqual([["address 2001:db8:1:2", 50]])
    })
  )
})
