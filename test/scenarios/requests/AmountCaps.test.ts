import { layer } from "@effect/vitest"
import { Context, Effect, Schema } from "effect"
import { expect } from "vitest"
import type { AmountCap } from "../../../src/domain/AmountCaps.ts"
import { minor } from "../../../src/domain/Money.ts"
import { VelocityLimits } from "../../../src/services/ports/VelocityLimits.ts"
import { momoCharge, momoPayout } from "../../support/RequestBodies.ts"
import { eventually, referenceOf, said } from "../../support/SignedClient.ts"
import { keyOn, ledgerVerifies, Stack, tenantOn } from "../../support/Stack.ts"
import { auditEntry } from "../../support/TestDatabase.ts"

const cap = (amount: bigint, change: Partial<AmountCap> = {}): AmountCap => ({
  mode: "live",
  direction: "payout",
  window: "day",
  currency: "UGX",
  amount: minor(amount),
  ...change
})

/** A tenant with a float of a million and these caps. */
const capped = Effect.fnUntraced(function* (...caps: ReadonlyArray<AmountCap>) {
  const { gateway } = yield* Stack
  const tenant = yield* tenantOn(gateway, 1_000_000n)
  const limits = Context.get(gateway.context, VelocityLimits)
  yield* Effect.forEach(caps, (one) => limits.setCap(tenant.appId, one, auditEntry()))
  /** Until the gateway knows of the change. */
  const known = (amounts: ReadonlyArray<bigint>) =>
    eventually(limits.caps(tenant.appId), (now) => String(now.map(({ amount }) => amount)) === String(amounts))
  return {
    ...tenant,
    lower: (one: AmountCap) => Effect.andThen(limits.setCap(tenant.appId, one, auditEntry()), known([one.amount])),
    remove: (one: AmountCap) => Effect.andThen(limits.removeCap(tenant.appId, one, auditEntry()), known([]))
  }
})

const decodeRows = Schema.decodeUnknownSync(Schema.Array(Schema.Record(Schema.String, Schema.Unknown)))

const paid = (ending: string, amount: number, change: object = {}) => ({ ...momoPayout(ending), amount_minor: amount, ...change })

// 64 at once may wait for a slow machine: that is no provider that says nothing.
layer(Stack.layer({ PROVIDER_TIMEOUT_MS: "5000" }), { excludeTestServices: true })("caps of amounts, over real HTTP", (it) => {
  it.effect("let no more through than the cap, of 64 payouts at once, and as many as fit", () =>
    Effect.gen(function* () {
      const tenant = yield* capped(cap(200_000n))
      const answers = yield* Effect.forEach(
        Array.from({ length: 64 }, (_, index) => `${1000 + index}`),
        (ending) => tenant.post("/v1/payouts", paid(ending, 10_000)),
        { concurrency: "unbounded" }
      )
      // On a slow machine one without its provider's answer is under way, too, and one without a quote is not recorded.
      expect(answers.filter((answer) => referenceOf(answer) !== "")).toHaveLength(20)
      const refusals = answers.filter(({ status }) => status === 422).map(said)
      expect(refusals.length).toBeGreaterThan(0)
      for (const refusal of refusals) {
        expect(refusal).toStrictEqual({
          status: 422,
          code: "velocity_limit_exceeded",
          class: "retriable",
          details: {
            window: "day",
            retry_after_seconds: expect.any(Number),
            scope: "amount",
            applies_to: "tenant",
            currency: "UGX",
            maximum_minor: 200_000,
            used_minor: expect.any(Number),
            window_ends_at: expect.stringMatching(/T00:00:00\.000Z$/)
          }
        })
      }
    })
  )

  it.effect("let through what still fits where amounts differ, and release the key of what does not", () =>
    Effect.gen(function* () {
      const tenant = yield* capped(cap(50_000n, { window: "hour" }))
      expect((yield* tenant.post("/v1/payouts", paid("2001", 45_000))).status).toBe(201)
      expect(said(yield* tenant.post("/v1/payouts", paid("2002", 5_001), "again"))).toMatchObject({
        code: "velocity_limit_exceeded",
        details: { window: "hour", scope: "amount", maximum_minor: 50_000, used_minor: 45_000 }
      })
      expect((yield* tenant.post("/v1/payouts", paid("2002", 5_000), "again")).status).toBe(201)
      expect(said(yield* tenant.post("/v1/payouts", paid("2003", 500)))).toMatchObject({ code: "velocity_limit_exceeded" })
    })
  )

  it.effect("count what is sent, without its fee, also where the fee is deducted from the amount", () =>
    Effect.gen(function* () {
      const tenant = yield* capped(cap(19_000n))
      const deducted = yield* tenant.post("/v1/payouts", paid("2011", 10_000, { deduct_fee_from_amount: true }))
      expect(deducted).toMatchObject({ status: 201, body: { data: { total_amount_minor: 10_000, fees_minor: 1_000 } } })
      expect((yield* tenant.post("/v1/payouts", paid("2012", 10_000))).status).toBe(201)
      expect(said(yield* tenant.post("/v1/payouts", paid("2013", 10_000, { deduct_fee_from_amount: true })))).toMatchObject({
        code: "velocity_limit_exceeded",
        details: { scope: "amount", used_minor: 19_000 }
      })
    })
  )

  it.effect("get back the amount of a failed payout", () =>
    Effect.gen(function* () {
      const tenant = yield* capped(cap(10_000n), cap(10_000n, { window: "key_day" }), cap(10_000n, { window: "destination" }))
      expect(said(yield* tenant.post("/v1/payouts", momoPayout("0001")))).toMatchObject({ code: "payout_rejected_by_provider" })
      expect((yield* tenant.post("/v1/payouts", momoPayout("2021"))).status).toBe(201)
      expect(said(yield* tenant.post("/v1/payouts", paid("2022", 500)))).toMatchObject({ details: { scope: "amount" } })
    })
  )

  it.effect("of a destination and of a key add up each for itself", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* capped(cap(15_000n, { window: "destination_day" }), cap(30_000n, { window: "key" }))
      expect((yield* tenant.post("/v1/payouts", momoPayout("2031"))).status).toBe(201)
      expect(said(yield* tenant.post("/v1/payouts", momoPayout("2031")))).toMatchObject({
        details: { window: "destination", scope: "amount", applies_to: "destination", maximum_minor: 15_000, used_minor: 10_000 }
      })
      for (const ending of ["2032", "2033"]) expect((yield* tenant.post("/v1/payouts", momoPayout(ending))).status).toBe(201)
      expect(said(yield* tenant.post("/v1/payouts", momoPayout("2034")))).toMatchObject({
        details: { window: "hour", scope: "amount", applies_to: "key", maximum_minor: 30_000, used_minor: 30_000 }
      })
      const second = yield* keyOn(gateway, tenant.appId, "live")
      expect((yield* second.post("/v1/payouts", momoPayout("2034"))).status).toBe(201)
    })
  )

  it.effect("refuse the next payout once they are lowered below what is used, and none once they are removed", () =>
    Effect.gen(function* () {
      const tenant = yield* capped(cap(100_000n))
      expect((yield* tenant.post("/v1/payouts", momoPayout("2041"))).status).toBe(201)
      yield* tenant.lower(cap(5_000n))
      expect(said(yield* tenant.post("/v1/payouts", paid("2042", 500)))).toMatchObject({
        details: { scope: "amount", maximum_minor: 5_000, used_minor: 10_000 }
      })
      yield* tenant.remove(cap(5_000n))
      expect((yield* tenant.post("/v1/payouts", momoPayout("2042"))).status).toBe(201)
    })
  )

  it.effect("hold for their direction and currency alone, collections among them", () =>
    Effect.gen(function* () {
      const tenant = yield* capped(
        cap(15_000n, { direction: "collection" }),
        cap(1n, { currency: "KES" }),
        cap(1n, { mode: "test" })
      )
      expect((yield* tenant.post("/v1/payouts", paid("2051", 20_000))).status).toBe(201)
      const charge = (ending: string) => tenant.post("/v1/collections", { ...momoCharge(ending), amount_minor: 10_000 })
      expect((yield* charge("2052")).status).toBe(201)
      expect(said(yield* charge("2053"))).toMatchObject({
        status: 422,
        code: "velocity_limit_exceeded",
        details: { window: "day", scope: "amount", applies_to: "tenant", used_minor: 10_000 }
      })
    })
  )

  it.effect("are listed beside the counts, each with what is used, the key's own for the key that asks", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* capped(
        cap(100_000n),
        cap(50_000n, { window: "key" }),
        cap(70_000n, { window: "destination_day" }),
        cap(9n, { mode: "test" })
      )
      yield* tenant.post("/v1/payouts", paid("2061", 10_000))
      yield* tenant.post("/v1/payouts", paid("0001", 7_000))
      const second = yield* keyOn(gateway, tenant.appId, "live")
      yield* second.post("/v1/payouts", paid("2062", 3_000))
      const row = { direction: "payout", window: "hour", scope: "amount", maximum_count: null, used_count: null, currency: "UGX" }
      const amounts = [
        { ...row, window: "day", applies_to: "tenant", maximum_minor: 100_000, used_minor: 13_000 },
        { ...row, window: "day", applies_to: "destination", maximum_minor: 70_000, used_minor: null },
        { ...row, applies_to: "key", maximum_minor: 50_000, used_minor: 3_000 }
      ]
      const data = decodeRows((yield* second.get("/v1/limits")).body.data)
      const rows = data.map(({ window_ends_at, ...limit }) => {
        expect(window_ends_at).toMatch(limit["window"] === "day" ? /T00:00:00\.000Z$/ : /:00:00\.000Z$/)
        return limit
      })
      expect(rows.filter(({ scope }) => scope === "amount")).toStrictEqual(amounts)
      const counts = rows.filter(({ scope }) => scope === "count")
      expect(counts.map(({ applies_to, direction, window }) => `${direction} ${applies_to} ${window}`)).toStrictEqual([
        ...["collection", "payout"].flatMap((direction) =>
          ["tenant hour", "tenant day", "destination hour", "destination day"].map((one) => `${direction} ${one}`)
        ),
        "code tenant hour",
        "code tenant day"
      ])
      const counted = { direction: "payout", applies_to: "tenant", scope: "count", currency: null, maximum_minor: null }
      expect(counts).toContainEqual({ ...counted, window: "hour", maximum_count: 600, used_count: 2, used_minor: null })
    })
  )

  it.effect("leaves a ledger that verifies", () => ledgerVerifies)
})
