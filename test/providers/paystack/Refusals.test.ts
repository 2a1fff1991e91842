import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { minor } from "../../../src/domain/Money.ts"
import { paystack } from "../../../src/providers/paystack/Adapter.ts"
import { withCapturedCall } from "../../../src/runtime/CapturedCall.ts"
import type { PayoutQuote } from "../../../src/services/ports/Provider.ts"
import { simulatedPayoutFees } from "../../../src/simulator/Fees.ts"
import { collectionsOf, payoutsOf } from "../contract/Fixture.ts"
import { bank, chargeOrder, momo, orderOn } from "../contract/Orders.ts"
import { answer, type Behaviour, reset, stub } from "../ProviderStub.ts"

const refused = (status: number, error: object = {}): Behaviour => answer(status, { status: false, message: "no", ...error })
const ofRequest = refused(400, { type: "validation_error" })
const said = (data: object): Behaviour => answer(200, { status: true, message: "yes", data })
const absent = refused(404, { message: "not found" })
const recipient = said({ recipient_code: "RCP_1" })
const taken = [
  { message: "Please provide a unique reference. Reference already exists on a transfer" },
  { message: "Duplicate Transaction Reference" },
  { message: "Duplicate charge request for reference" }
]

const telecel = momo("GH", "GHS", "TELECEL", "+23320000")
const nigeria = bank("NG", "NGN", "058", "001200")
const quote: PayoutQuote = {
  principal: minor(12_345n),
  fee: minor(5000n),
  destinationAmount: minor(12_345n),
  destinationCurrency: "NGN",
  rate: null,
  expiresInMs: 1000,
  token: ""
}

/** The adapter before a server with these answers, and the lines of the requests that it made. */
const before = Effect.fnUntraced(function* (behaviours: Readonly<Record<string, ReadonlyArray<Behaviour>>>) {
  const server = yield* stub(behaviours)
  const provider = yield* paystack(
    {
      baseUrl: server.baseUrl,
      secretKey: Redacted.make("sk_test_stub"),
      fees: simulatedPayoutFees,
      emailDomain: "example.com",
      timeoutMs: 5_000
    },
    "test"
  )
  const calls = () => server.seen.map(({ line }) => line.split("/")[1]?.split("?")[0])
  return { payouts: payoutsOf(provider), collections: collectionsOf(provider), calls }
})

describe("a refusal by Paystack", () => {
  it.effect("of a transfer is believed once nothing is found by our reference", () =>
    Effect.gen(function* () {
      const { calls, payouts } = yield* before({
        "POST /transferrecipient": [recipient],
        "POST /transfer": [ofRequest],
        "GET /transfer/verify/": [absent]
      })
      expect(yield* payouts.send(orderOn(quote, nigeria, "1234"))).toMatchObject({ _tag: "Refused", kind: "other" })
      expect(calls()).toStrictEqual(["transferrecipient", "transfer", "transfer"])
    })
  )

  it.effect("that is Paystack's own fault or its partner's is never believed, although nothing is found by our reference", () =>
    Effect.gen(function* () {
      for (const type of ["processor_error", "api_error", undefined]) {
        const { collections, payouts } = yield* before({
          "POST /transferrecipient": [recipient],
          "POST /transfer": [refused(400, { type })],
          "GET /transfer/verify/": [absent],
          "POST /charge": [refused(400, { type })],
          "GET /charge/": [absent]
        })
        const unknown = { _tag: "Unknown", reason: "bad_response" }
        expect(yield* payouts.send(orderOn(quote, nigeria, "1234"))).toMatchObject(unknown)
        expect(yield* collections.charge(chargeOrder(telecel, "1234"))).toMatchObject(unknown)
      }
    })
  )

  it.effect("is not believed while the status question after it is not answered", () =>
    Effect.gen(function* () {
      const { collections, payouts } = yield* before({
        "POST /transferrecipient": [recipient],
        "POST /transfer": [ofRequest],
        "GET /transfer/verify/": [refused(500)],
        "POST /charge": [ofRequest],
        "GET /charge/": [reset]
      })
      expect(yield* payouts.send(orderOn(quote, nigeria, "1234"))).toMatchObject({ _tag: "Unknown" })
      expect(yield* collections.charge(chargeOrder(telecel, "1234"))).toMatchObject({ _tag: "Unknown" })
    })
  )

  it.effect("because our reference was used is never believed, although nothing is found by it", () =>
    Effect.gen(function* () {
      for (const error of taken) {
        const { collections, payouts } = yield* before({
          "POST /transferrecipient": [recipient],
          "POST /transfer": [refused(400, error)],
          "GET /transfer/verify/": [absent],
          "POST /charge": [refused(400, error)],
          "GET /charge/": [absent]
        })
        const unknown = { _tag: "Unknown", reason: "bad_response" }
        expect(yield* payouts.send(orderOn(quote, nigeria, "1234"))).toMatchObject(unknown)
        expect(yield* collections.charge(chargeOrder(telecel, "1234"))).toMatchObject(unknown)
      }
    })
  )

  it.effect("of a charge is replaced by the charge that is found", () =>
    Effect.gen(function* () {
      const order = chargeOrder(telecel, "1234")
      const reference = order.reference.toLowerCase()
      const { collections } = yield* before({
        "POST /charge": [ofRequest],
        "GET /charge/": [said({ reference, status: "pay_offline" }), said({ reference: "another", status: "pay_offline" })]
      })
      expect(yield* collections.charge(order)).toMatchObject({ _tag: "Accepted" })
      expect(yield* collections.charge(order)).toMatchObject({ _tag: "Unknown", reason: "bad_response" })
    })
  )

  it.effect("of a recipient ends the payout without sending it", () =>
    Effect.gen(function* () {
      const { calls, payouts } = yield* before({ "POST /transferrecipient": [refused(400), refused(429)] })
      expect(yield* payouts.send(orderOn(quote, nigeria, "1234"))).toMatchObject({ _tag: "Refused", kind: "party" })
      expect(yield* payouts.send(orderOn(quote, nigeria, "1234"))).toMatchObject({ _tag: "NotSent" })
      expect(calls()).toStrictEqual(["transferrecipient", "transferrecipient"])
    })
  )

  it.effect("of a voucher charges nothing, and differs from a voucher that never left and from one whose answer was lost", () =>
    Effect.gen(function* () {
      const order = chargeOrder(telecel, "1234", { pinId: "voucher", pin: Redacted.make("918273") })
      const reference = order.reference.toLowerCase()
      const { collections } = yield* before({
        "POST /charge": [said({ reference, status: "send_otp" })],
        "POST /charge/submit_otp": [
          refused(400, { message: "Provided registration token is invalid" }),
          said({ reference, status: "send_otp" }),
          reset,
          said({ reference, status: "failed" })
        ]
      })
      const tags: Array<string> = []
      for (let sent = 0; sent < 4; sent++) tags.push((yield* collections.charge(order))._tag)
      expect(tags).toStrictEqual(["CodeRejected", "CodeRejected", "Unknown", "Refused"])
    })
  )
})

describe("the stored call to Paystack", () => {
  it.effect("has no number, name, address or voucher", () =>
    Effect.gen(function* () {
      const order = chargeOrder(telecel, "1234", { pinId: "voucher", pin: Redacted.make("918273") })
      const reference = order.reference.toLowerCase()
      const { collections, payouts } = yield* before({
        "POST /transferrecipient": [refused(400, { message: "Jane Mary Doe has no account 0012001234" })],
        "POST /charge": [said({ reference, status: "pay_offline" })]
      })
      const { raw: recipientKept } = yield* withCapturedCall(payouts.send(orderOn(quote, nigeria, "1234")))
      const details = { firstName: null, lastName: null, phone: null, externalId: null }
      const payer = { ...details, email: Redacted.make("ama@shop.example") }
      const { raw: chargeKept } = yield* withCapturedCall(collections.charge({ ...order, payer }))
      for (const kept of [recipientKept, chargeKept]) {
        expect(kept?.request).toContain("••••")
        expect(JSON.stringify(kept)).not.toMatch(/0200001234|0012001234|Jane|ama@shop|918273|sk_test_stub/)
      }
      expect(chargeKept?.request).toContain(reference)
    })
  )
})
