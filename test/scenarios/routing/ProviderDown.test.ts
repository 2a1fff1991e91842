import { expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { describe } from "vitest"
import type { Running } from "../../simulator/eversend/SimulatorFixture.ts"
import { bankPayout, momoCharge, momoPayout } from "../../support/RequestBodies.ts"
import { eventually, referenceOf, said } from "../../support/SignedClient.ts"
import { callsOf, executionsOf, givenStack, tenantOn, verified, webhooksOf } from "../../support/Stack.ts"

const PAYOUTS = "/v1/payouts"
const events = ["payout.pending", "payout.successful", "payout.failed", "collection.pending", "collection.failed"] as const
const setDown = (simulator: Running, down: boolean) =>
  Effect.promise(() => simulator.control("POST", "/down", { provider: "eversend", down }))

describe("a provider that refuses connections", () => {
  it.live("before the quote: reserves nothing, and the same key works when the provider is back", () =>
    Effect.gen(function* () {
      const { gateway, simulator } = yield* givenStack()
      const tenant = yield* tenantOn(gateway)
      yield* setDown(simulator, true)
      const refused = yield* tenant.post(PAYOUTS, momoPayout("1234"), "down")
      expect(said(refused)).toStrictEqual({ status: 503, code: "provider_error", class: "retriable", details: {} })
      expect(yield* tenant.float).toMatchObject({ available_minor: 100_000, reserved_minor: 0 })
      yield* setDown(simulator, false)
      const answer = yield* tenant.post(PAYOUTS, momoPayout("1234"), "down")
      expect(answer.status).toBe(201)
      yield* tenant.until(`${PAYOUTS}/${referenceOf(answer)}`, ({ status }) => status === "successful")
    })
  )

  it.live(
    "after the quote: a payout that was never sent fails at once, its float is returned, and its key keeps that answer",
    () =>
      Effect.gen(function* () {
        const { gateway, simulator } = yield* givenStack()
        const tenant = yield* tenantOn(gateway)
        const webhooks = yield* webhooksOf(gateway, tenant, events)
        // Between the quote and the payout the banks' names are read: that answer never comes, and meanwhile the provider goes down.
        yield* Effect.promise(() =>
          simulator.control("POST", "/next", { provider: "eversend", operation: "banks", ending: "0003" })
        )
        const asking = yield* Effect.forkScoped(tenant.post(PAYOUTS, bankPayout("1234"), "down"))
        yield* eventually(callsOf(simulator), (calls) => calls.includes("GET /v1/payouts/banks/UG"))
        expect(yield* tenant.float).toMatchObject({ available_minor: 84_600, reserved_minor: 15_400 })
        yield* setDown(simulator, true)

        const answer = yield* Fiber.join(asking)
        const reference = referenceOf(answer)
        expect(reference).not.toBe("")
        expect(said(answer)).toStrictEqual({
          status: 503,
          code: "provider_unavailable",
          class: "ambiguous",
          details: { reference }
        })
        expect(yield* tenant.get(`${PAYOUTS}/${reference}`)).toMatchObject({
          body: { data: { status: "failed", failure: { code: "unknown" }, fees_minor: 0 } }
        })
        expect(yield* tenant.float).toMatchObject({ available_minor: 100_000, reserved_minor: 0, paid_out_minor: 0 })
        const details = { reference, failure_code: "unknown" }
        const refusal = { status: 422, code: "payout_rejected_by_provider", class: "terminal", details }
        expect(said(yield* tenant.post(PAYOUTS, bankPayout("1234"), "down"))).toStrictEqual(refusal)

        yield* setDown(simulator, false)
        expect(said(yield* tenant.post(PAYOUTS, bankPayout("1234"), "down"))).toStrictEqual(refusal)
        expect(yield* executionsOf(simulator, reference)).toStrictEqual([])
        const next = yield* tenant.post(PAYOUTS, bankPayout("1234"), "up")
        expect(next.status).toBe(201)
        yield* tenant.until(`${PAYOUTS}/${referenceOf(next)}`, ({ status }) => status === "successful")
        expect(yield* webhooks.types(4)).toStrictEqual(["payout.pending", "payout.failed", "payout.pending", "payout.successful"])
        expect(yield* verified(gateway)).toMatchObject({ ok: true, differences: [] })
      })
  )

  it.live("for a charge: the charge was never sent and fails at once", () =>
    Effect.gen(function* () {
      const { gateway, simulator } = yield* givenStack()
      const tenant = yield* tenantOn(gateway, 0n)
      const webhooks = yield* webhooksOf(gateway, tenant, events)
      yield* setDown(simulator, true)
      const answer = yield* tenant.post("/v1/collections", momoCharge("1234"), "down")
      const reference = referenceOf(answer)
      expect(said(answer)).toStrictEqual({
        status: 503,
        code: "provider_unavailable",
        class: "ambiguous",
        details: { reference }
      })
      expect(yield* tenant.get(`/v1/collections/${reference}`)).toMatchObject({ body: { data: { status: "failed" } } })
      yield* setDown(simulator, false)
      const details = { reference, failure_code: "unknown" }
      const refusal = { status: 422, code: "charge_rejected_by_provider", class: "terminal", details }
      expect(said(yield* tenant.post("/v1/collections", momoCharge("1234"), "down"))).toStrictEqual(refusal)
      expect((yield* tenant.post("/v1/collections", momoCharge("1234"), "up")).status).toBe(201)
      expect(yield* webhooks.types(2)).toEqual(expect.arrayContaining(["collection.pending", "collection.failed"]))
    })
  )
})
