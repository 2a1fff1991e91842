import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { momoPayout } from "../../support/RequestBodies.ts"
import { said } from "../../support/SignedClient.ts"
import { changeCorridor, Stack, tenantOn } from "../../support/Stack.ts"

const PAYOUTS = "/v1/payouts"
const over = (maximum_minor: number) => ({
  status: 422,
  code: "amount_above_maximum",
  class: "terminal",
  details: { maximum_minor, scope: "test_mode" }
})

layer(Stack.layer(), { excludeTestServices: true })("the ceiling of test mode", (it) => {
  it.effect("applies to the amount without its fee", () =>
    Effect.gen(function* () {
      const tenant = yield* tenantOn((yield* Stack).gateway, 50_000n, { mode: "test" })
      expect(said(yield* tenant.post(PAYOUTS, momoPayout("1234", { amount_minor: 20_001 })))).toStrictEqual(over(20_000))
      const answer = yield* tenant.post(PAYOUTS, momoPayout("1234", { amount_minor: 20_000 }))
      expect([answer.status, answer.body.data]).toMatchObject([201, { is_test_mode: true, total_amount_minor: 21_000 }])
      expect(yield* tenant.float).toMatchObject({ available_minor: 29_000 })
    })
  )

  it.effect("applies to the requested amount, also where the fee is deducted from it", () =>
    Effect.gen(function* () {
      const tenant = yield* tenantOn((yield* Stack).gateway, 50_000n, { mode: "test" })
      const budget = (amount_minor: number) => momoPayout("1234", { amount_minor, deduct_fee_from_amount: true })
      expect(said(yield* tenant.post(PAYOUTS, budget(20_001)))).toStrictEqual(over(20_000))
      expect((yield* tenant.post(PAYOUTS, budget(20_000))).body.data).toMatchObject({ destination_amount_minor: 19_000 })
    })
  )

  it.effect("applies across currencies to the amount in its currency and to the source amount, before the float is checked", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      yield* changeCorridor(gateway, { country: "GH", method: "momo" }, { destinationCurrencies: ["GHS", "KES"] })
      const wish = { currency: "GHS", mode: "test" } as const
      const tenant = yield* tenantOn(gateway, 6_500n, wish)
      const poor = yield* tenantOn(gateway, 0n, wish)
      const destination = { type: "momo", msisdn: "254712001234", network: "MPESA", country: "KE" }
      const across = { currency: "GHS", country: "GH", destination_currency: "KES", destination }
      const fixed = (amount_minor: number) => momoPayout("", { ...across, amount_minor, amount_type: "DESTINATION" })
      // More than the ceiling of KES; less than that, but more than 6,000 in GHS.
      expect(said(yield* poor.post(PAYOUTS, fixed(70_001)))).toStrictEqual(over(70_000))
      expect(said(yield* poor.post(PAYOUTS, fixed(61_921)))).toStrictEqual(over(6_000))
      const source = momoPayout("", { ...across, amount_minor: 6_001, amount_type: "SOURCE" })
      expect(said(yield* poor.post(PAYOUTS, source))).toStrictEqual(over(6_000))
      const answer = yield* tenant.post(PAYOUTS, fixed(61_920))
      expect([answer.status, answer.body.data]).toMatchObject([201, { total_amount_minor: 6_500, fees_minor: 500 }])
      expect(yield* tenant.float).toMatchObject({ available_minor: 0 })
    })
  )
})
