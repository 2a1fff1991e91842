import { expect, layer } from "@effect/vitest"
import { Clock, Context, Effect, Fiber, Layer } from "effect"
import { Reference } from "../../../src/domain/Ids.ts"
import { referenceIdOf } from "../../../src/providers/mtn/Wire.ts"
import { simulatedMtn } from "../../../src/simulator/mtn/Simulator.ts"
import { freePort } from "../../support/FreePort.ts"
import { patientClock } from "../../support/PatientClock.ts"
import { momoPayout } from "../../support/RequestBodies.ts"
import { client, eventually, referenceOf, said } from "../../support/SignedClient.ts"
import { callsOf, changeCorridor, gatewayOn, givenStack, tenantOn, verified } from "../../support/Stack.ts"
import { offBy } from "../../support/WrongClock.ts"

const PAYOUTS = "/v1/payouts"
const OFF_MS = 11 * 60_000
const OVERRIDES = { RECONCILER_SCHEDULE: "300ms,600ms,1s", PROVIDER_TIMEOUT_MS: "3000" }

/** Three gateways on one database: one whose machine is right, one eleven minutes ahead, one eleven minutes behind. */
class Nodes extends Context.Service<Nodes, Effect.Success<typeof givenNodes>>()("test/Nodes") {
  static readonly layer = Layer.effect(
    Nodes,
    Effect.suspend(() => givenNodes)
  )
}

const givenNodes = Effect.gen(function* () {
  const mtn = simulatedMtn.simulated(simulatedMtn.accounts({ baseUrl: "", timeoutMs: 1000 }))
  const { database, gateway: right, simulator } = yield* givenStack(OVERRIDES, { beside: [mtn] })
  // MTN's answer that it does not know a reference is proof after a grace of minutes.
  yield* changeCorridor(right, { country: "UG", method: "momo" }, { providers: ["mtn"] })
  const node = Effect.fnUntraced(function* (ms: number) {
    const port = yield* freePort
    const overrides = { ...OVERRIDES, MANAGEMENT_PORT: String(port) }
    const gateway = yield* gatewayOn(database, simulator, overrides).pipe(
      Effect.provideService(Clock.Clock, offBy(patientClock, ms))
    )
    const ready = Effect.promise(async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`)
      return { status: answer.status, body: await answer.text() }
    })
    return { ...gateway, ready }
  })
  return { right, ahead: yield* node(OFF_MS), behind: yield* node(-OFF_MS), simulator }
}).pipe(Effect.orDie)

layer(Nodes.layer, { excludeTestServices: true })("a machine whose clock is eleven minutes off", (it) => {
  it.effect("is not ready, and shows the difference", () =>
    Effect.gen(function* () {
      const { ahead, behind } = yield* Nodes
      const says = (way: string) => ({
        status: 503,
        body: expect.stringMatching(new RegExp(`^the clock of this machine is \\d{3}\\.\\d s ${way} the database's\\n$`))
      })
      expect(yield* ahead.ready).toEqual(says("ahead of"))
      expect(yield* behind.ready).toEqual(says("behind"))
    })
  )

  it.effect("stamps records with the database's time, and accepts a client with the right time", () =>
    Effect.gen(function* () {
      const { ahead, behind, right } = yield* Nodes
      const tenant = yield* tenantOn(right)
      const createdAt = Effect.fnUntraced(function* (host: typeof right, ending: string) {
        const { body } = yield* client(host, tenant.key).post(PAYOUTS, momoPayout(ending))
        return Date.parse(body.data["created_at"] ?? "")
      })
      const before = yield* Clock.currentTimeMillis
      const stamps = [yield* createdAt(right, "1001"), yield* createdAt(ahead, "1002"), yield* createdAt(behind, "1003")]
      const after = yield* Clock.currentTimeMillis
      // The database of this test is on this machine; its time is a reading's round trip behind at most, which a busy machine delays.
      for (const stamp of stamps) {
        expect(stamp).toBeGreaterThan(before - 60_000)
        expect(stamp).toBeLessThanOrEqual(after)
      }
    })
  )

  it.effect("releases no reservation before the grace has passed, however often the payout is not found", () =>
    Effect.gen(function* () {
      const { right, simulator } = yield* Nodes
      const tenant = yield* tenantOn(right)
      // All three nodes ask the provider for what is open. NOT_FOUND_COUNT is 3.
      const reference = referenceOf(yield* tenant.post(PAYOUTS, momoPayout("0004")))
      const own = referenceIdOf(Reference.make(reference))
      const questions = Effect.map(callsOf(simulator), (calls) =>
        calls.filter((call) => call.startsWith("GET ") && call.includes(own))
      )
      const record = Effect.map(tenant.get(`${PAYOUTS}/${reference}`), ({ body }): Record<string, unknown> => body.data)
      yield* eventually(Effect.zip(questions, record), ([asked, { status }]) => asked.length >= 5 || status !== "pending")
      expect(yield* record).toMatchObject({ status: "pending", needs_review: false })
      expect(yield* tenant.float).toMatchObject({ available_minor: 89_000, reserved_minor: 11_000 })
    })
  )

  it.effect("takes over no lease that another node holds: the key stays in progress", () =>
    Effect.gen(function* () {
      const { ahead, behind, right, simulator } = yield* Nodes
      const tenant = yield* tenantOn(right)
      const first = yield* Effect.forkChild(tenant.post(PAYOUTS, momoPayout("0004"), "one-key"))
      yield* eventually(tenant.float, (float) => float["reserved_minor"] === 11_000)
      for (const node of [ahead, behind]) {
        const answer = yield* client(node, tenant.key).post(PAYOUTS, momoPayout("0004"), "one-key")
        expect(said(answer)).toMatchObject({ status: 409, code: "request_in_progress" })
      }
      const calls = yield* callsOf(simulator, referenceOf(yield* Fiber.join(first)))
      expect(calls.filter((call) => call.startsWith("POST "))).toHaveLength(1)
      expect(yield* verified(right)).toMatchObject({ ok: true, differences: [] })
    })
  )
})
