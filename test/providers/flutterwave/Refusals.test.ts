import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { describe } from "vitest"
import { minor } from "../../../src/domain/Money.ts"
import { flutterwave } from "../../../src/providers/flutterwave/Adapter.ts"
import { chargeSum } from "../../../src/providers/flutterwave/Translate.ts"
import { payoutsOf } from "../contract/Fixture.ts"
import { momo, orderOn } from "../contract/Orders.ts"
import { answer, stub } from "../ProviderStub.ts"

const uganda = momo("UG", "UGX", "MTN", "25670000")

describe("a refusal of Flutterwave's", () => {
  it.effect("because our reference was used is never believed, although nothing is found by it", () =>
    Effect.gen(function* () {
      const server = yield* stub({
        "POST /transfers": [answer(400, { status: "error", message: "Payout with this ref already exists", data: null })],
        "GET /transfers?reference": [answer(200, { status: "success", message: "Transfers fetched", data: [] })]
      })
      const provider = yield* flutterwave(
        {
          baseUrl: server.baseUrl,
          secretKey: Redacted.make("FLWSECK_TEST-stub"),
          webhookSecretHash: Redacted.make("hash"),
          sender: null,
          emailDomain: "example.com",
          timeoutMs: 5_000
        },
        "test"
      )
      const quote = {
        principal: minor(20_000n),
        fee: minor(500n),
        destinationAmount: minor(20_000n),
        destinationCurrency: "UGX" as const,
        rate: null,
        expiresInMs: 1000,
        token: ""
      }
      expect(yield* payoutsOf(provider).send(orderOn(quote, uganda, "1234"))).toMatchObject({
        _tag: "Unknown",
        reason: "bad_response"
      })
    })
  )
})

describe("the fee of a charge at Flutterwave", () => {
  const charge = { id: "1", amount: "2500", currency: "NGN", status: "successful", amount_settled: "0.00" }

  it("is the named fee, or unknown, as long as nothing is settled", () => {
    expect(chargeSum({ ...charge, app_fee: "35" })).toStrictEqual({ amount: 250_000n, currency: "NGN", fee: 3_500n })
    expect(chargeSum(charge)).toStrictEqual({ amount: 250_000n, currency: "NGN", fee: null })
  })
})
