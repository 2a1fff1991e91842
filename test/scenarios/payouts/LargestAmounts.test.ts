import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { momoCharge, momoPayout } from "../../support/RequestBodies.ts"
import { said } from "../../support/SignedClient.ts"
import { Stack, tenantOn, verified } from "../../support/Stack.ts"

/** 2^53-1: the largest amount that a request may name. */
const LARGEST = Number.MAX_SAFE_INTEGER
/** The fee of a UGX payout to mobile money. */
const FEE = 1_000

const invalid = (path: string, message: string) => ({
  status: 422,
  code: "validation_failed",
  class: "terminal",
  details: { issues: [{ path, message }] }
})
const notExchanged = invalid("source_amount_minor", "is not an amount that can be exchanged")

layer(Stack.layer(), { excludeTestServices: true })("the largest amounts", (it) => {
  const beyond = { currency: "KES", country: "KE", amount_type: "DESTINATION", destination_currency: "UGX" }
  const payouts = [
    ["with the fee on top", {}, { estimated_fee_minor: FEE, shortfall_minor: LARGEST - (100_000 - FEE) }],
    ["that a source beyond all counting would reach", beyond, { shortfall_minor: LARGEST }]
  ] as const
  for (const [name, terms, lacks] of payouts) {
    it.effect(`a payout ${name} does not fit in the float, and is quoted without figures`, () =>
      Effect.gen(function* () {
        const tenant = yield* tenantOn((yield* Stack).gateway)
        const body = momoPayout("0100", { ...terms, amount_minor: LARGEST })
        expect(said(yield* tenant.post("/v1/payouts", body))).toMatchObject({
          status: 422,
          code: "insufficient_tenant_float",
          class: "terminal",
          details: { amount_minor: LARGEST, ...lacks }
        })
        const quote = yield* tenant.post("/v1/payouts/quote", body)
        expect([quote.status, quote.body.data]).toMatchObject([
          200,
          {
            fees_minor: null,
            total_amount_minor: null,
            destination_amount_minor: null,
            affordable: false,
            unpriced_reason: "above_provider_maximum"
          }
        ])
      })
    )
  }

  it.effect("a payout with the fee taken out is quoted to the unit, and does not fit in the float", () =>
    Effect.gen(function* () {
      const tenant = yield* tenantOn((yield* Stack).gateway)
      const body = momoPayout("0100", { deduct_fee_from_amount: true, amount_minor: LARGEST })
      const { body: quote } = yield* tenant.post("/v1/payouts/quote", body)
      expect(quote.data).toMatchObject({ fees_minor: FEE, total_amount_minor: LARGEST, destination_amount_minor: LARGEST - FEE })
      expect(said(yield* tenant.post("/v1/payouts", body))).toMatchObject({
        code: "insufficient_tenant_float",
        details: { estimated_fee_minor: FEE, shortfall_minor: LARGEST - 100_000 }
      })
    })
  )

  for (const terms of [{}, { deduct_fee_from_amount: true }, beyond]) {
    it.effect(`a payout of ${JSON.stringify(terms)} is above the maximum where one is known`, () =>
      Effect.gen(function* () {
        const tenant = yield* tenantOn((yield* Stack).gateway, 100_000n, { mode: "test" })
        const body = momoPayout("0100", { ...terms, amount_minor: LARGEST })
        expect(said(yield* tenant.post("/v1/payouts", body))).toMatchObject({
          status: 422,
          code: "amount_above_maximum",
          details: { scope: "test_mode" }
        })
      })
    )
  }

  it.effect("a payout whose total is exactly the largest amount is quoted to the unit", () =>
    Effect.gen(function* () {
      const tenant = yield* tenantOn((yield* Stack).gateway)
      const body = momoPayout("0100", { amount_minor: LARGEST - FEE })
      const { body: quote } = yield* tenant.post("/v1/payouts/quote", body)
      expect(quote.data).toMatchObject({ fees_minor: FEE, total_amount_minor: LARGEST, destination_amount_minor: LARGEST - FEE })
      expect(said(yield* tenant.post("/v1/payouts", body))).toStrictEqual({
        status: 422,
        code: "insufficient_tenant_float",
        class: "terminal",
        details: { amount_minor: LARGEST - FEE, estimated_fee_minor: FEE, shortfall_minor: LARGEST - 100_000 }
      })
    })
  )

  it.effect("an amount with decimals is quoted exactly", () =>
    Effect.gen(function* () {
      const tenant = yield* tenantOn((yield* Stack).gateway)
      const amount = 8_007_199_254_740_991
      const terms = { amount_minor: amount, currency: "KES", country: "KE", method: "momo" }
      const { body } = yield* tenant.post("/v1/payouts/quote", terms)
      expect(body.data).toMatchObject({ fees_minor: 3_000, total_amount_minor: amount + 3_000, destination_amount_minor: amount })
    })
  )

  it.effect("a charge of the largest amount is placed as it is", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const placed = yield* tenant.post("/v1/collections", momoCharge("0100", { amount_minor: LARGEST }))
      expect([placed.status, placed.body.data]).toMatchObject([201, { amount_minor: LARGEST, status: "pending" }])
      expect(yield* verified(gateway)).toMatchObject({ ok: true, differences: [] })
    })
  )

  it.effect("an exchange that buys more than the largest amount is refused as terminal, one that buys less is quoted", () =>
    Effect.gen(function* () {
      const tenant = yield* tenantOn((yield* Stack).gateway)
      const quote = (source: string, destination: string, amount: object) =>
        tenant.post("/v1/fx/quote", { source_currency: source, destination_currency: destination, ...amount })
      const whole = { source_amount_minor: LARGEST }
      expect(said(yield* quote("UGX", "KES", whole))).toStrictEqual(notExchanged)
      expect(said(yield* quote("USD", "UGX", whole))).toStrictEqual(notExchanged)
      const { body } = yield* quote("KES", "UGX", whole)
      expect(body.data).toMatchObject({ source_amount_minor: LARGEST, destination_amount_minor: 2_583_460_251_359_819 })
    })
  )

  it.effect("a quote by destination finds the smallest source although its first guesses buy too much", () =>
    Effect.gen(function* () {
      const tenant = yield* tenantOn((yield* Stack).gateway)
      const wish = { source_currency: "USD", destination_currency: "UGX" }
      // A cent is 37 shillings.
      const wanted = 9_007_199_254_740_000
      const { body } = yield* tenant.post("/v1/fx/quote", { ...wish, destination_amount_minor: wanted })
      expect(body.data).toMatchObject({
        source_amount_minor: Math.ceil(wanted / 37),
        destination_amount_minor: 9_007_199_254_740_012
      })
      // The next multiple of 37 is beyond 2^53-1.
      const refused = yield* tenant.post("/v1/fx/quote", { ...wish, destination_amount_minor: LARGEST })
      expect(said(refused)).toStrictEqual(invalid("", "the provider refuses to quote this exchange"))
    })
  )
})
