import { expect, it } from "@effect/vitest"
import { Context, Effect } from "effect"
import { describe } from "vitest"
import type { Corridor } from "../../../src/domain/Corridor.ts"
import { Reference } from "../../../src/domain/Ids.ts"
import { SAMPLE_AT_LEAST } from "../../../src/domain/RoutePreference.ts"
import { PeriodCounts } from "../../../src/services/ports/PeriodCounts.ts"
import { RouteCounts } from "../../../src/services/ports/RouteCounts.ts"
import { Tenants } from "../../../src/services/ports/Tenants.ts"
import { Transactions } from "../../../src/services/ports/Transactions.ts"
import { RoutePreferences } from "../../../src/services/routing/RoutePreferences.ts"
import { charge, payout, routed } from "../../support/EveryProvider.ts"
import { referenceOf } from "../../support/SignedClient.ts"
import { changeCorridor, creditOn, everyOther, type Gateway, givenStack, tenantOn, verified } from "../../support/Stack.ts"
import { auditEntry } from "../../support/TestDatabase.ts"

// Two ways to one wallet: MTN in Ghana through Flutterwave and through Paystack.
const ways = ["flutterwave", "paystack"] as const

const preferring = Effect.fnUntraced(function* (gateway: Gateway, preference: Corridor["preference"]) {
  yield* routed(gateway, ways, ghana)
  for (const direction of ["payout", "collection"] as const)
    yield* changeCorridor(gateway, { country: "GH", method: "momo", direction }, { preference })
})
const ghana = { country: "GH", currency: "GHS", network: "MTN", prefix: "23324412" } as const

/** What nodes do every few seconds. */
const counted = Effect.fnUntraced(function* ({ context }: Gateway) {
  yield* Context.get(context, RouteCounts).write
  yield* Context.get(context, PeriodCounts).write
  yield* Context.get(context, RoutePreferences).look
})

const opened = Effect.fnUntraced(function* ({ context }: Gateway, reference: string) {
  const [line] = yield* Context.get(context, Transactions).history(Reference.make(reference))
  return line?.note
})

const holder = Effect.fnUntraced(function* (gateway: Gateway, pinnedTo: string | null = null) {
  const tenant = yield* tenantOn(gateway, 0n, { currency: "GHS" })
  yield* creditOn(gateway, tenant, 1_000_000_000n, "GHS")
  yield* Context.get(gateway.context, Tenants).pin(tenant.appId, pinnedTo, auditEntry())
  return tenant
})

describe("two ways to one wallet", () => {
  it.live("by success: once one way is clearly better than the other, payouts go there first, and their history says why", () =>
    Effect.gen(function* () {
      const { gateway } = yield* givenStack({ PROVIDER_TIMEOUT_MS: "15000" }, { beside: everyOther })
      yield* preferring(gateway, "success")
      const tenant = yield* holder(gateway)
      const first = yield* tenant.post("/v1/payouts", payout("1000"))
      expect(first).toMatchObject({ status: 201, body: { data: { provider: "flutterwave" } } })
      expect(yield* opened(gateway, referenceOf(first))).toContain(
        "flutterwave used #1 (by success too few, 0); paystack not_asked (by success too few, 0)"
      )

      // One pays whatever it is asked to; the other one takes payouts and fails them later.
      const [failing, elsewhere] = [yield* holder(gateway, "flutterwave"), yield* holder(gateway, "paystack")]
      const numbers = Array.from({ length: SAMPLE_AT_LEAST }, (_, place) => `${1_100 + place}`)
      yield* Effect.forEach(
        numbers,
        Effect.fnUntraced(function* (ending) {
          const good = yield* elsewhere.post("/v1/payouts", payout(ending))
          yield* elsewhere.until(`/v1/payouts/${referenceOf(good)}`, ({ status }) => status === "successful")
        }),
        { concurrency: 8 }
      )
      yield* Effect.forEach(
        numbers,
        Effect.fnUntraced(function* (_, place) {
          const bad = yield* failing.post("/v1/payouts", { ...payout("0002"), amount_minor: 10_000 + place })
          yield* failing.until(`/v1/payouts/${referenceOf(bad)}`, ({ status }) => status === "failed")
        }),
        { concurrency: 8 }
      )
      yield* counted(gateway)

      const better = yield* tenant.post("/v1/payouts", payout("1200"))
      expect(better).toMatchObject({ status: 201, body: { data: { provider: "paystack" } } })
      expect(yield* opened(gateway, referenceOf(better))).toMatch(
        /^candidates: paystack used #1 \(by success 100 % of 3\d, total 10500\); flutterwave not_asked \(by success \d+ % of 3\d, total 10500\)/
      )
      // Charges are counted by themselves: of them nothing is known.
      const collected = yield* tenant.post("/v1/collections", charge("1300"))
      expect(collected).toMatchObject({ body: { data: { provider: "flutterwave" } } })
      // The operator takes it back, and the row's own order holds at once.
      yield* preferring(gateway, "order")
      const back = yield* tenant.post("/v1/payouts", payout("1400"))
      expect(back).toMatchObject({ status: 201, body: { data: { provider: "flutterwave" } } })
      expect(yield* opened(gateway, referenceOf(back))).toContain("flutterwave used #1; paystack not_asked")
      expect(yield* verified(gateway)).toMatchObject({ ok: true, differences: [] })
    }).pipe(Effect.scoped)
  )

  it.live(
    "by price: the cheaper way goes first, in the quote and in the payout; the row's own order where both cost the same",
    () =>
      Effect.gen(function* () {
        const { gateway } = yield* givenStack(
          ({ baseUrls }) => ({
            PROVIDER_TIMEOUT_MS: "15000",
            PAYSTACK_BASE_URL: baseUrls.paystack ?? "",
            PAYSTACK_LIVE_SECRET_KEY: "sk_live_simulated",
            PAYSTACK_PAYOUT_FEES: "GHS:momo:120"
          }),
          { beside: everyOther }
        )
        yield* preferring(gateway, "price")
        const tenant = yield* holder(gateway)
        const shown = yield* tenant.post("/v1/payouts/quote", payout("1000"))
        expect(shown).toMatchObject({ status: 200, body: { data: { fees_minor: 120, total_amount_minor: 10_120 } } })
        const paid = yield* tenant.post("/v1/payouts", payout("1000"))
        expect(paid).toMatchObject({ status: 201, body: { data: { provider: "paystack", fees_minor: 120 } } })
        expect(yield* opened(gateway, referenceOf(paid))).toBe(
          "candidates: paystack used #1 (by price total 10120); flutterwave not_asked (by price total 10500)"
        )
        yield* preferring(gateway, "order")
        expect(yield* tenant.post("/v1/payouts", payout("1001"))).toMatchObject({
          status: 201,
          body: { data: { provider: "flutterwave", fees_minor: 500 } }
        })
        expect(yield* verified(gateway)).toMatchObject({ ok: true, differences: [] })
      }).pipe(Effect.scoped)
  )
})
