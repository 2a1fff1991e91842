import { it } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { describe, expect } from "vitest"
import { FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import { Transactions } from "../../../src/services/ports/Transactions.ts"
import { appId, applyStep, given, openOne, openStep, position, succeeded } from "../../support/LedgerSteps.ts"
import { givenClaim } from "../../support/PaymentRequests.ts"
import { givenLedger } from "../../support/TestLedger.ts"

/** The database commits the first money step of a kind, and its answer never comes. */
const losesOneAnswer =
  (called: string) =>
  (sql: SqlClient.SqlClient): SqlClient.SqlClient => {
    let lost = false
    return new Proxy(sql, {
      get: (target, name, receiver) =>
        name === "unsafe"
          ? (text: string, parameters: ReadonlyArray<unknown>) =>
              Effect.flatMap(target.unsafe(text, parameters), (rows) => {
                const answer =
                  lost || !text.includes(called)
                    ? Effect.succeed(rows)
                    : Effect.die(new Error("the connection broke during COMMIT"))
                lost ||= text.includes(called)
                return answer
              })
          : Reflect.get(target, name, receiver)
    })
  }

describe("a commit whose answer was lost", () => {
  it.live("is recognised when it opened a transaction, and the others of its batch are opened", () =>
    Effect.gen(function* () {
      const { node, url } = yield* given(50_000n)
      const losing = yield* givenLedger(url, losesOneAnswer("open_step"))
      const results = yield* Effect.forEach(
        [10_000n, 20_000n, 30_000n],
        (principal) => Effect.provideContext(openOne(appId, `lost-${principal}`, principal), losing),
        { concurrency: "unbounded" }
      )
      expect(results.map(({ _tag }) => _tag)).toStrictEqual(["Opened", "Opened", "ShortFloat"])
      expect(yield* Effect.provideContext(position(appId), node)).toStrictEqual([18_000n, 32_000n])
    }).pipe(Effect.scoped)
  )

  it.live("is not taken for that of a request that has the key by now", () =>
    Effect.gen(function* () {
      const { node, url } = yield* given(50_000n)
      const losing = yield* givenLedger(url, losesOneAnswer("open_step"))
      yield* Effect.gen(function* () {
        const stale = yield* givenClaim(appId, "slept")
        yield* (yield* SqlClient.SqlClient)`UPDATE idempotency_keys SET lease_until = now() - interval '1 second'`
        const fresh = yield* givenClaim(appId, "slept")
        expect(yield* (yield* FloatLedger).open(openStep(fresh, 10_000n))).toStrictEqual({ _tag: "Opened" })
        expect(yield* Context.get(losing, FloatLedger).open(openStep(stale, 10_000n))).toStrictEqual({ _tag: "ClaimLost" })
        expect(yield* position(appId)).toStrictEqual([39_000n, 11_000n])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.live("is recognised when it applied a fact, and not confused with another decision on the same record", () =>
    Effect.gen(function* () {
      const { node, url } = yield* given(50_000n)
      const losing = yield* givenLedger(url, losesOneAnswer("apply_step"))
      const claim = yield* Effect.provideContext(givenClaim(appId, "settled"), node)
      const applied = yield* Effect.gen(function* () {
        const ledger = yield* FloatLedger
        yield* ledger.open(openStep(claim, 10_000n))
        const step = yield* applyStep(claim, succeeded)
        const own = { ...step, line: { ...step.line, note: "a word with \u0000 in it" } }
        const others = { ...own, line: { ...own.line, at: step.line.at + 1 } }
        return [yield* ledger.apply(own), yield* ledger.apply(others)]
      }).pipe(Effect.provideContext(losing))
      expect(applied.map(({ _tag }) => _tag)).toStrictEqual(["Applied", "Stale"])
      const { history } = yield* Effect.provideContext(Transactions, node)
      expect((yield* history(claim.reference)).map(({ fact }) => fact)).toStrictEqual(["Opened", "Succeeded"])
      expect(yield* Effect.provideContext(position(appId), node)).toStrictEqual([39_000n, 0n])
    }).pipe(Effect.scoped)
  )

  it.live("is not taken for the commit of another decision with the same words", () =>
    Effect.gen(function* () {
      const { node, url } = yield* given(50_000n)
      const losing = yield* givenLedger(url, losesOneAnswer("apply_step"))
      const claim = yield* Effect.provideContext(givenClaim(appId, "settled"), node)
      const ledger = Context.get(node, FloatLedger)
      yield* ledger.open(openStep(claim, 10_000n))
      const step = yield* Effect.provideContext(applyStep(claim, succeeded), node)
      const another = { ...step, line: { ...step.line, at: step.line.at + 1 } }
      expect(yield* ledger.apply(another)).toStrictEqual({ _tag: "Applied" })
      expect(yield* Context.get(losing, FloatLedger).apply(step)).toStrictEqual({ _tag: "Stale" })
    }).pipe(Effect.scoped)
  )
})
