import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { bankPayout, momoPayout } from "../../support/RequestBodies.ts"
import { referenceOf, said } from "../../support/SignedClient.ts"
import { changeCorridor, creditOn, executionsOf, keyOn, Stack, tenantOn, verified } from "../../support/Stack.ts"

const PAYOUTS = "/v1/payouts"
const QUOTE = "/v1/payouts/quote"
const refused = (code: string, details: object = {}) => ({ status: 422, code, class: "terminal", details })

layer(Stack.layer(), { excludeTestServices: true })("payouts", (it) => {
  const plain = {
    amount_minor: 10_000,
    amount_currency: "UGX",
    currency: "UGX",
    destination_currency: "UGX",
    fees_minor: 1_000,
    total_amount_minor: 11_000,
    destination_amount_minor: 10_000,
    rate: null,
    amount_type: null,
    deduct_fee_from_amount: false,
    minimum_minor: 500,
    maximum_minor: null,
    meets_minimum: true,
    affordable: true,
    available_minor: 22_000,
    shortfall_minor: 0,
    expires_at: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
  }
  const bank = { fees_minor: 5_400, total_amount_minor: 15_400, minimum_minor: 10_000 }
  const nobody = { destination: undefined }
  const deducted = { deduct_fee_from_amount: true }
  const unpriced = {
    fees_minor: null,
    total_amount_minor: null,
    destination_amount_minor: null,
    affordable: false,
    shortfall_minor: null,
    expires_at: null
  }

  const quotes: ReadonlyArray<readonly [promise: string, body: object, estimate: object]> = [
    ["every figure of the contract", momoPayout("1234"), plain],
    ["the same for a recipient who is not named yet", momoPayout("1234", nobody), plain],
    ["what each method costs", bankPayout("1234"), { ...plain, ...bank }],
    [
      "also what cannot be afforded, and the cheaper method that fits",
      bankPayout("1234", { amount_minor: 20_000 }),
      {
        ...plain,
        ...bank,
        amount_minor: 20_000,
        destination_amount_minor: 20_000,
        total_amount_minor: 25_400,
        affordable: false,
        shortfall_minor: 3_400,
        suggested_method: "momo",
        suggested_total_minor: 21_000
      }
    ],
    [
      "a deducted fee by momo",
      momoPayout("1234", deducted),
      { ...plain, ...deducted, total_amount_minor: 10_000, destination_amount_minor: 9_000 }
    ],
    [
      "a deducted fee that leaves less than the bank's floor",
      bankPayout("1234", deducted),
      { ...plain, ...bank, ...deducted, total_amount_minor: 10_000, destination_amount_minor: 4_600, meets_minimum: false }
    ],
    [
      "what would arrive in the recipient's currency, where the deducted fee leaves less than the minimum",
      momoPayout("", {
        ...deducted,
        amount_minor: 1_400,
        amount_type: "SOURCE",
        destination_currency: "KES",
        destination: { type: "momo", msisdn: "254712001234", network: "MPESA", country: "KE" }
      }),
      {
        ...plain,
        ...deducted,
        amount_minor: 1_400,
        amount_type: "SOURCE",
        total_amount_minor: 1_400,
        destination_currency: "KES",
        destination_amount_minor: 1_394,
        rate: expect.stringMatching(/^0\.0348/),
        meets_minimum: false
      }
    ],
    [
      "null figures where the provider does not quote so little",
      bankPayout("1234", { amount_minor: 9_999 }),
      {
        ...plain,
        ...bank,
        ...unpriced,
        amount_minor: 9_999,
        meets_minimum: false,
        unpriced_reason: "below_provider_minimum"
      }
    ],
    [
      "that the fee takes the whole budget",
      momoPayout("1234", { ...deducted, amount_minor: 1_000 }),
      {
        ...plain,
        ...deducted,
        ...unpriced,
        amount_minor: 1_000,
        meets_minimum: false,
        unpriced_reason: "fee_exceeds_amount"
      }
    ],
    [
      "that a wallet is priced for its owner only",
      { ...momoPayout("1234", nobody), method: "wallet" },
      { ...plain, ...unpriced, minimum_minor: null, unpriced_reason: "destination_required" }
    ],
    [
      "that another currency needs a destination, which says where it is paid",
      momoPayout("1234", { ...nobody, destination_currency: "KES", amount_type: "SOURCE" }),
      {
        ...plain,
        ...unpriced,
        destination_currency: "KES",
        amount_type: "SOURCE",
        meets_minimum: true,
        minimum_minor: 500,
        unpriced_reason: "destination_required"
      }
    ],
    [
      "that the provider refuses for a reason of its own",
      { ...momoPayout("1234", { destination: { type: "wallet", country: "UG", tag: "nobody0016" } }), method: "wallet" },
      { ...plain, ...unpriced, minimum_minor: null, unpriced_reason: "provider_refused" }
    ]
  ]
  for (const [promise, body, estimate] of quotes) {
    it.effect(`a quote tells ${promise}, and moves nothing`, () =>
      Effect.gen(function* () {
        const tenant = yield* tenantOn((yield* Stack).gateway, 22_000n)
        const { body: answer, status } = yield* tenant.call("POST", QUOTE, body)
        expect([status, answer.data]).toStrictEqual([200, estimate])
        expect(yield* tenant.float).toMatchObject({ available_minor: 22_000, reserved_minor: 0 })
      })
    )
  }

  it.effect("pays out the whole float of UGX 10,000 by momo: the recipient gets 9,000 and nothing is left", () =>
    Effect.gen(function* () {
      const tenant = yield* tenantOn((yield* Stack).gateway, 10_000n)
      const answer = yield* tenant.post(PAYOUTS, momoPayout("1234", deducted))
      const figures = { amount_minor: 10_000, total_amount_minor: 10_000, destination_amount_minor: 9_000, fees_minor: 1_000 }
      expect([answer.status, answer.body.data]).toMatchObject([201, { ...figures, deduct_fee_from_amount: true }])
      yield* tenant.until(`${PAYOUTS}/${referenceOf(answer)}`, ({ status }) => status === "successful")
      expect(yield* tenant.float).toMatchObject({ available_minor: 0, reserved_minor: 0, paid_out_minor: 9_000 })
    })
  )

  it.effect("leaves in the float the rest that a stepwise fee makes unreachable", () =>
    Effect.gen(function* () {
      const tenant = yield* tenantOn((yield* Stack).gateway, 10_101n, { currency: "KES" })
      const destination = { type: "bank", country: "KE", bank_code: "68", account_number: "0190001234", account_name: "Jane Doe" }
      const body = bankPayout("1234", { amount_minor: 10_101, currency: "KES", country: "KE", destination, ...deducted })
      const { body: answer } = yield* tenant.post(PAYOUTS, body)
      expect(answer.data).toMatchObject({ total_amount_minor: 10_100, destination_amount_minor: 10_000, fees_minor: 100 })
      expect(yield* tenant.float).toMatchObject({ currency: "KES", available_minor: 1 })
    })
  )

  it.effect("pays in another currency with a fixed source or a fixed destination amount", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      yield* changeCorridor(gateway, { country: "GH", method: "momo" }, { destinationCurrencies: ["GHS", "KES"] })
      const tenant = yield* tenantOn(gateway, 100_000n, { currency: "GHS" })
      const destination = { type: "momo", msisdn: "254712001234", network: "MPESA", country: "KE" }
      const across = { currency: "GHS", country: "GH", destination_currency: "KES", destination }
      const source = yield* tenant.post(PAYOUTS, momoPayout("", { ...across, amount_type: "SOURCE" }))
      const figures = {
        total_amount_minor: 10_500,
        fees_minor: 500,
        destination_amount_minor: 103_200,
        destination_currency: "KES"
      }
      expect(source.body.data).toMatchObject({ ...figures, amount_minor: 10_000, amount_currency: "GHS", currency: "GHS" })
      const fixed = momoPayout("", { ...across, amount_minor: 103_200, amount_type: "DESTINATION" })
      const target = yield* tenant.post(PAYOUTS, fixed)
      expect(target.body.data).toMatchObject({ ...figures, amount_minor: 103_200, amount_currency: "KES" })
      yield* tenant.until(`${PAYOUTS}/${referenceOf(source)}`, ({ status }) => status === "successful")
      yield* tenant.until(`${PAYOUTS}/${referenceOf(target)}`, ({ status }) => status === "successful")
      expect(yield* tenant.float).toMatchObject({ available_minor: 79_000, paid_out_minor: 20_000, provider_fees_minor: 1_000 })
      expect(yield* verified(gateway)).toMatchObject({ ok: true })
    })
  )

  it.effect("names the network as the corridor does, and refuses one that the corridor does not list", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      yield* creditOn(gateway, tenant, 100_000n, "GHS")
      const to = (country: string, msisdn: string, network: string) => ({
        destination: { type: "momo", msisdn, network, country }
      })
      const ghana = momoPayout("", { currency: "GHS", country: "GH", ...to("GH", "233244121234", "vodafone") })
      expect((yield* tenant.post(PAYOUTS, ghana)).body.data).toMatchObject({ network: "TELECEL" })
      expect((yield* tenant.post(PAYOUTS, momoPayout("", to("UG", "256772121234", "airtel")))).body.data).toMatchObject({
        network: "AIRTEL"
      })
      const issues = [{ path: "destination.network", message: expect.any(String) }]
      const unknown = yield* tenant.post(PAYOUTS, momoPayout("", to("UG", "256772121234", "MPESA")))
      expect(said(unknown)).toStrictEqual(refused("validation_failed", { issues }))
    })
  )

  it.effect("keeps live and test mode apart, and test mode under its ceiling", () =>
    Effect.gen(function* () {
      const { gateway, simulator } = yield* Stack
      const live = yield* tenantOn(gateway)
      const test = yield* keyOn(gateway, live.appId, "test")
      yield* creditOn(gateway, test, 50_000n)
      const over = refused("amount_above_maximum", { maximum_minor: 20_000, scope: "test_mode" })
      expect(said(yield* test.post(PAYOUTS, momoPayout("1234", { amount_minor: 20_001 })))).toStrictEqual(over)
      const answer = yield* test.post(PAYOUTS, momoPayout("1234", { amount_minor: 20_000 }))
      expect([answer.status, answer.body.data]).toMatchObject([201, { is_test_mode: true, total_amount_minor: 21_000 }])
      expect([yield* test.float, yield* live.float]).toMatchObject([{ available_minor: 29_000 }, { available_minor: 100_000 }])
      const reference = referenceOf(answer)
      yield* test.until(`${PAYOUTS}/${reference}`, ({ status }) => status === "successful")
      // No sandbox: the money of the test account has moved.
      expect(yield* executionsOf(simulator, reference)).toMatchObject([{ direction: "payout", amount_minor: 20_000 }])
      expect(said(yield* live.get(`${PAYOUTS}/${reference}`))).toStrictEqual({ ...refused("not_found"), status: 404 })
    })
  )
})
