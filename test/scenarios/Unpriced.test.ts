import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { everyProvider, payout, pinned, providers, routed } from "../support/EveryProvider.ts"
import { bankPayout, momoPayout, walletPayout } from "../support/GivenRequests.ts"
import { said } from "../support/SignedClient.ts"
import { changeCorridor, Stack, tenantOn } from "../support/Stack.ts"

const QUOTE = "/v1/payouts/quote"
const LARGEST = Number.MAX_SAFE_INTEGER
const REASONS = [
  "destination_required",
  "below_provider_minimum",
  "above_provider_maximum",
  "fee_exceeds_amount",
  "provider_refused"
]
const deducted = (amount_minor: number) => ({ amount_minor, deduct_fee_from_amount: true })
const fixed = (amount_minor: number) => ({ amount_minor, amount_type: "DESTINATION" })
const { destination: _, ...anybody } = walletPayout("1234")

layer(Stack.layer(), { excludeTestServices: true })("a quote without figures says why:", (it) => {
  const reasons: ReadonlyArray<readonly [what: string, body: object, reason: string]> = [
    ["a wallet is quoted for its owner only", anybody, "destination_required"],
    ["the provider takes no less", bankPayout("1234", { amount_minor: 9_999 }), "below_provider_minimum"],
    ["a budget is below what the provider takes", momoPayout("1234", deducted(499)), "below_provider_minimum"],
    ["what is to arrive is below it", momoPayout("1234", fixed(499)), "below_provider_minimum"],
    ["it is more than can be paid", momoPayout("1234", { amount_minor: LARGEST }), "above_provider_maximum"],
    ["the fee eats the budget", momoPayout("1234", deducted(600)), "fee_exceeds_amount"],
    ["the provider does not know the wallet", walletPayout("0016"), "provider_refused"]
  ]
  for (const [what, body, reason] of reasons) {
    it.effect(`${what}: ${reason}`, () =>
      Effect.gen(function* () {
        const tenant = yield* tenantOn((yield* Stack).gateway)
        const { body: answer, status } = yield* tenant.call("POST", QUOTE, body)
        expect([status, answer.data]).toMatchObject([
          200,
          {
            unpriced_reason: reason,
            fees_minor: null,
            total_amount_minor: null,
            destination_amount_minor: null,
            affordable: false,
            meets_minimum: reason !== "below_provider_minimum" && reason !== "fee_exceeds_amount"
          }
        ])
      })
    )
  }

  it.effect("and with figures it says nothing", () =>
    Effect.gen(function* () {
      const tenant = yield* tenantOn((yield* Stack).gateway)
      const { body } = yield* tenant.call("POST", QUOTE, momoPayout("1234"))
      expect(body.data).toMatchObject({ fees_minor: 1_000 })
      expect(Object.keys(body.data)).not.toContain("unpriced_reason")
    })
  )
})

layer(Stack.layer(), { excludeTestServices: true })("a payout of a size that the provider does not take", (it) => {
  const below = (minimum_minor: number, method: string) => ({
    status: 422,
    code: "amount_below_minimum",
    class: "terminal",
    details: { minimum_minor, method }
  })
  const above = (maximum_minor: number) => ({
    status: 422,
    code: "amount_above_maximum",
    class: "terminal",
    details: { maximum_minor, scope: "corridor" }
  })
  const sizes: ReadonlyArray<readonly [what: string, body: object, refusal: object]> = [
    ["a budget that is too small", momoPayout("1234", deducted(499)), below(500, "momo")],
    ["a budget that its fee would eat", momoPayout("1234", deducted(600)), below(500, "momo")],
    ["a fixed destination that is too small", bankPayout("1234", fixed(9_999)), below(10_000, "bank")],
    ["more than can be paid with the fee on top", momoPayout("1234", { amount_minor: LARGEST }), above(LARGEST - 1_001)],
    ["more than can be paid with the fee inside", momoPayout("1234", deducted(LARGEST)), above(LARGEST - 1_001)]
  ]
  for (const [what, body, refusal] of sizes) {
    it.effect(`is refused by its size: ${what}`, () =>
      Effect.gen(function* () {
        const tenant = yield* tenantOn((yield* Stack).gateway)
        expect(said(yield* tenant.post("/v1/payouts", body))).toStrictEqual(refusal)
      })
    )
  }

  it.effect("is refused by its size across currencies too, with the largest that can be paid", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      yield* changeCorridor(gateway, "KE", "momo", { destinationCurrencies: ["KES", "UGX"] })
      const tenant = yield* tenantOn(gateway)
      const across = { currency: "KES", country: "KE", destination_currency: "UGX" }
      const refused = yield* tenant.post("/v1/payouts", momoPayout("1234", { ...across, ...fixed(LARGEST) }))
      expect(said(refused)).toMatchObject({ code: "amount_above_maximum", details: { scope: "corridor" } })
      const maximum_minor = Number(refused.body.error?.details?.["maximum_minor"])
      const most = momoPayout("1234", { ...across, ...fixed(maximum_minor) })
      expect((yield* tenant.call("POST", QUOTE, most)).body.data).toMatchObject({ destination_amount_minor: maximum_minor })
    })
  )
})

layer(everyProvider, { excludeTestServices: true })("a quote of any provider", (it) => {
  for (const provider of providers)
    it.effect(`has figures or says why not: ${provider}`, () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        yield* routed(gateway, providers)
        const tenant = yield* pinned(gateway, provider)
        const { destination, ...terms } = payout("1234")
        for (const amount_minor of [1, 10_000, LARGEST])
          for (const change of [{}, { destination }, { deduct_fee_from_amount: true }]) {
            const { body, status } = yield* tenant.call("POST", QUOTE, { ...terms, ...change, amount_minor })
            const { fees_minor, unpriced_reason } = body.data
            expect([status, fees_minor === null]).toStrictEqual([200, REASONS.includes(String(unpriced_reason))])
          }
        const { body } = yield* tenant.call("POST", QUOTE, { ...terms, amount_minor: LARGEST })
        expect(body.data).toMatchObject({ unpriced_reason: "above_provider_maximum" })
        const refused = yield* tenant.post("/v1/payouts", { ...terms, destination, amount_minor: LARGEST })
        expect(said(refused)).toMatchObject({ code: "amount_above_maximum", details: { scope: "corridor" } })
      })
    )
})
