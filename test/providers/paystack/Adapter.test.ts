import { expect, it, layer } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import { TestClock } from "effect/testing"
import type { Corridor } from "../../../src/domain/Corridor.ts"
import { minor } from "../../../src/domain/Money.ts"
import { paystack } from "../../../src/providers/paystack/Adapter.ts"
import type { ChargeOrder } from "../../../src/services/ports/Provider.ts"
import { simulatedPayoutFees } from "../../../src/simulator/Fees.ts"
import { simulatedPaystack } from "../../../src/simulator/paystack/Simulator.ts"
import { eventually } from "../../support/SignedClient.ts"
import { ContractBench, collectionsOf, openBench, payoutsOf } from "../contract/Fixture.ts"
import { askOrder, bank, chargeOrder, momo, orderOn, payoutOrder, quoteOrder, type Way } from "../contract/Orders.ts"

const ghana = momo("GH", "GHS", "MTN", "23320000")
const telecel = momo("GH", "GHS", "TELECEL", "23320000")
const kenya = momo("KE", "KES", "MPESA", "25470000")
const wave = { ...momo("CI", "XOF", "WAVE", "225070000"), redirect: true, amount: minor(2_501n) }
const nigeria = bank("NG", "NGN", "058", "001200")

/** What a call to the simulator's own port answers, with the live account's key. */
const wire = Effect.fnUntraced(function* (method: string, path: string, body?: object) {
  const { baseUrl } = yield* ContractBench
  return yield* Effect.promise(async () => {
    const init = body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await fetch(`${baseUrl}${path}`, { method, headers: { authorization: "Bearer sk_live_simulated" }, ...init })
    return { status: answer.status, json: decodeData(await answer.text()) }
  })
})
const decodeData = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Struct({ message: Schema.optionalKey(Schema.String), data: Schema.optionalKey(Schema.Unknown) }))
)

const coded = (way: Way, ending: string, pin: string): ChargeOrder =>
  chargeOrder(way, ending, { pinId: "voucher", pin: Redacted.make(pin) })

const moved = Effect.fnUntraced(function* (reference: ChargeOrder["reference"]) {
  const { executions } = yield* ContractBench
  return (yield* executions(reference)).map(({ amount_minor, client_reference, currency, direction }) => ({
    amount_minor,
    client_reference,
    currency,
    direction
  }))
})

layer(ContractBench.layer(simulatedPaystack), { excludeTestServices: true })("Paystack:", (it) => {
  it.effect("refuses a charge without the voucher that it needs, says what to do, and moves nothing", () =>
    Effect.gen(function* () {
      const { live } = yield* ContractBench
      const order = chargeOrder(telecel, "1234")
      const outcome = yield* collectionsOf(live).charge(order)
      expect(outcome).toMatchObject({
        _tag: "Refused",
        kind: "other",
        failure: { code: "provider_rejected" },
        note: "status send_otp"
      })
      expect(outcome._tag === "Refused" && outcome.failure.message).toContain("voucher")
      expect((yield* collectionsOf(live).fetchStatus(yield* askOrder(telecel, order.reference)))._tag).toBe("StillPending")
      expect(yield* moved(order.reference)).toStrictEqual([])
    })
  )

  it.effect("sends a voucher after the charge; a wrong one charges nothing, and another may follow with the same reference", () =>
    Effect.gen(function* () {
      const { live } = yield* ContractBench
      const wrong = coded(telecel, "1234", "000000")
      expect(yield* collectionsOf(live).charge(wrong)).toMatchObject({ _tag: "CodeRejected" })
      expect(yield* collectionsOf(live).charge(wrong)).toMatchObject({ _tag: "CodeRejected" })
      expect(yield* moved(wrong.reference)).toStrictEqual([])
      const right = { ...wrong, otp: { pinId: "voucher", pin: Redacted.make("123456") } }
      expect(yield* collectionsOf(live).charge(right)).toMatchObject({ _tag: "Accepted" })
      const ask = Effect.flatMap(askOrder(telecel, right.reference), collectionsOf(live).fetchStatus)
      const paid = yield* eventually(ask, ({ _tag }) => _tag === "Succeeded")
      expect(paid).toMatchObject({ amount: 12_345n, currency: "GHS", fee: 186n })
      // Once more, whatever for: it is there, and is not charged again.
      expect(yield* collectionsOf(live).charge(right)).toMatchObject({ _tag: "Succeeded" })
      expect(yield* moved(right.reference)).toStrictEqual([
        { amount_minor: 12_345, client_reference: right.reference, currency: "GHS", direction: "collection" }
      ])
    })
  )

  it.effect("answers Unknown when the answer to a voucher is lost, and finds the charge later", () =>
    Effect.gen(function* () {
      const { live } = yield* ContractBench
      const order = coded(telecel, "0005", "123456")
      expect(yield* collectionsOf(live).charge(order)).toMatchObject({ _tag: "Unknown", reason: "unavailable" })
      const ask = Effect.flatMap(askOrder(telecel, order.reference), collectionsOf(live).fetchStatus)
      yield* eventually(ask, ({ _tag }) => _tag === "Succeeded")
    })
  )

  it.effect("answers a payment page as a redirect, and charges francs, which have no hundredths, exactly", () =>
    Effect.gen(function* () {
      const { live } = yield* ContractBench
      const order = chargeOrder(wave, "1234")
      const outcome = yield* collectionsOf(live).charge(order)
      expect(outcome._tag).toBe("NeedsRedirect")
      expect(yield* moved(order.reference)).toStrictEqual([])
      if (outcome._tag === "NeedsRedirect") yield* Effect.promise(() => fetch(outcome.redirectUrl))
      const ask = Effect.flatMap(askOrder(wave, order.reference), collectionsOf(live).fetchStatus)
      expect(yield* eventually(ask, ({ _tag }) => _tag === "Succeeded")).toMatchObject({
        amount: 2_501n,
        currency: "XOF",
        fee: 38n
      })
      const { json } = yield* wire("GET", `/transaction/verify/${order.reference.toLowerCase()}`)
      expect(json.data).toMatchObject({ amount: 250_100, fees: 3_800, currency: "XOF", status: "success" })
      expect(yield* moved(order.reference)).toMatchObject([{ amount_minor: 2_501, currency: "XOF" }])
    })
  )

  it.effect("never executes a reference twice, and answers the second time with the state of the first", () =>
    Effect.gen(function* () {
      const { live } = yield* ContractBench
      const order = yield* payoutOrder(payoutsOf(live), kenya, "1234")
      expect(yield* payoutsOf(live).send(order)).toMatchObject({ _tag: "Accepted" })
      expect(["Accepted", "Succeeded"]).toContain((yield* payoutsOf(live).send(order))._tag)
      const ask = Effect.flatMap(askOrder(kenya, order.reference), payoutsOf(live).fetchStatus)
      yield* eventually(ask, ({ _tag }) => _tag === "Succeeded")
      expect(yield* moved(order.reference)).toHaveLength(1)
      const charge = chargeOrder(ghana, "0010")
      expect(yield* collectionsOf(live).charge(charge)).toMatchObject({ _tag: "Accepted" })
      expect(yield* collectionsOf(live).charge(charge)).toMatchObject({ _tag: "Accepted", note: "status pending" })
    })
  )

  it.effect("sends the recipient in the country's format, and the amount in hundredths", () =>
    Effect.gen(function* () {
      const { live } = yield* ContractBench
      const order = { ...(yield* payoutOrder(payoutsOf(live), ghana, "1234")), narration: "rent" }
      yield* payoutsOf(live).send(order)
      const body = { type: "mobile_money", name: "Anybody", account_number: "0200001234", bank_code: "MTN", currency: "GHS" }
      const [once, twice] = [yield* wire("POST", "/transferrecipient", body), yield* wire("POST", "/transferrecipient", body)]
      expect(once).toMatchObject({ status: 201, json: { data: { recipient_code: expect.stringMatching(/^RCP_/) } } })
      expect(decodeCode(twice.json.data)).toBe(decodeCode(once.json.data))
      const { json } = yield* wire("GET", `/transfer/verify/${order.reference.toLowerCase()}`)
      const recipient = { recipient_code: decodeCode(once.json.data) }
      expect(json.data).toMatchObject({ recipient, amount: 12_345, currency: "GHS", reason: "rent" })
    })
  )

  it.effect("quotes by the contract without a call, and not across currencies, in other countries or to wallets", () =>
    Effect.gen(function* () {
      const payouts = payoutsOf((yield* ContractBench).live)
      const terms = { principal: 12_345n, destinationAmount: 12_345n, rate: null, token: "" }
      expect(yield* payouts.quote(quoteOrder(nigeria, "1234"))).toMatchObject({
        ...terms,
        fee: 5000n,
        destinationCurrency: "NGN"
      })
      expect(yield* payouts.quote({ ...quoteOrder(nigeria, "1234"), amountType: "DESTINATION" })).toMatchObject(terms)
      expect(yield* payouts.quote(quoteOrder(bank("KE", "KES", "68", "001200"), "1234"))).toMatchObject({ ...terms, fee: 124n })
      const across = { ...quoteOrder(ghana, "1234"), destinationCurrency: "KES", destinationCountry: "KE" } as const
      const elsewhere = [
        momo("UG", "UGX", "MTN", "25670000"),
        momo("CI", "XOF", "MTN", "225070000"),
        bank("UG", "UGX", "01", "00")
      ]
      for (const order of [across, ...elsewhere.map((way) => quoteOrder(way, "1234"))])
        expect(yield* payouts.quote(order)).toMatchObject({ _tag: "QuoteRefused", kind: "other" })
    })
  )

  it.effect("refuses a network without a code at Paystack before anything is sent", () =>
    Effect.gen(function* () {
      const { live, open } = yield* ContractBench
      const nowhere = yield* open("http://127.0.0.1:9")
      const airtel = momo("KE", "KES", "AIRTEL", "25470000")
      const quote = yield* payoutsOf(live).quote(quoteOrder(kenya, "1234"))
      if ("_tag" in quote) return yield* Effect.die(new Error(quote.note))
      const config = { _tag: "Refused", kind: "config", providerReference: null }
      expect(yield* payoutsOf(nowhere.live).send(orderOn(quote, airtel, "1234"))).toMatchObject(config)
      expect(yield* collectionsOf(nowhere.live).charge(chargeOrder(momo("KE", "KES", "MTN", "25470000"), "1234"))).toMatchObject(
        config
      )
      expect(yield* payoutsOf(nowhere.live).send(orderOn(quote, kenya, "1234"))).toMatchObject({ _tag: "NotSent" })
      expect(yield* collectionsOf(nowhere.live).charge(chargeOrder(kenya, "1234"))).toMatchObject({ _tag: "NotSent" })
    })
  )

  it.effect("gives a payer without an e-mail address a reserved one, which does not contain the number", () =>
    Effect.gen(function* () {
      const { live } = yield* ContractBench
      const emailOf = Effect.fnUntraced(function* (order: ChargeOrder) {
        yield* collectionsOf(live).charge(order)
        const { json } = yield* wire("GET", `/transaction/verify/${order.reference.toLowerCase()}`)
        return decodeEmail(json.data).customer.email
      })
      const nobody = chargeOrder(ghana, "0010")
      expect(yield* emailOf(nobody)).toBe(`${nobody.reference.toLowerCase()}@example.com`)
      const nothing = { firstName: null, lastName: null, phone: null, externalId: null }
      const somebody = { ...chargeOrder(ghana, "0010"), payer: { ...nothing, email: Redacted.make("ama@shop.example") } }
      expect(yield* emailOf(somebody)).toBe("ama@shop.example")
    })
  )

  it.effect("does not turn a charge on the handset into a page because the corridor has redirects", () =>
    Effect.gen(function* () {
      const { live } = yield* ContractBench
      const order = chargeOrder({ ...momo("GH", "GHS", "MTN", "23320000"), redirect: true }, "1234")
      const customerAction: Corridor["customerAction"] = order.corridor.customerAction
      expect(customerAction).toBe("redirect")
      expect(yield* collectionsOf(live).charge(order)).toMatchObject({ _tag: "Accepted", note: "status pay_offline" })
    })
  )

  it.effect("reports an unknown key as our own configuration for a charge, and sends no payout", () =>
    Effect.gen(function* () {
      const { baseUrl, live } = yield* ContractBench
      const stranger = yield* paystack(
        {
          baseUrl,
          secretKey: Redacted.make("sk_live_stranger"),
          fees: simulatedPayoutFees,
          emailDomain: "example.com",
          timeoutMs: 5_000
        },
        "live"
      )
      expect(yield* collectionsOf(stranger).charge(chargeOrder(ghana, "1234"))).toMatchObject({ _tag: "Refused", kind: "config" })
      const order = yield* payoutOrder(payoutsOf(live), ghana, "1234")
      expect(yield* payoutsOf(stranger).send(order)).toMatchObject({ _tag: "NotSent" })
      const ask = yield* askOrder(ghana, order.reference)
      expect(yield* payoutsOf(stranger).fetchStatus(ask)).toMatchObject({ _tag: "Unknown" })
    })
  )
})

it.effect("finds a charge without a voucher unfinished at Paystack, which says that it can still be paid", () =>
  Effect.gen(function* () {
    const collections = collectionsOf((yield* openBench(simulatedPaystack)).live)
    const order = coded(telecel, "1234", "000000")
    expect(yield* collections.charge(order)).toMatchObject({ _tag: "CodeRejected" })
    yield* TestClock.adjust("11 minutes")
    const unfinished = { _tag: "StillPending", isUnfinished: true, note: "status abandoned" }
    const ask = yield* askOrder(telecel, order.reference)
    expect(yield* collections.fetchStatus({ ...ask, sentAt: ask.sentAt - 660_000 })).toMatchObject(unfinished)
    const right = { ...order, otp: { pinId: "voucher", pin: Redacted.make("123456") } }
    expect(yield* collections.charge(right)).toMatchObject({ _tag: "Accepted", note: "status abandoned" })
  })
)

const decodeEmail = Schema.decodeUnknownSync(Schema.Struct({ customer: Schema.Struct({ email: Schema.String }) }))
const RecipientCode = Schema.Struct({ recipient_code: Schema.String })
const decodeCode = (data: unknown): string => Schema.decodeUnknownSync(RecipientCode)(data).recipient_code
