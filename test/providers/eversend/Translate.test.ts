import { expect, it } from "@effect/vitest"
import { Redacted, Schema } from "effect"
import * as fc from "fast-check"
import { describe } from "vitest"
import { type Currency, exponents, isCurrency } from "../../../src/domain/Currency.ts"
import { json } from "../../../src/domain/Json.ts"
import { LARGEST_AMOUNT, minor, toDecimal } from "../../../src/domain/Money.ts"
import { chargeBody, payoutBody, quotationBody } from "../../../src/providers/eversend/Order.ts"
import { chargeOutcome, foundInPage, payoutOutcome } from "../../../src/providers/eversend/Translate.ts"
import type { ProviderResponse } from "../../../src/providers/Transport.ts"
import { unlessFound } from "../MoneyCallAnswer.ts"
import { chargeAnswer, listAnswer, payoutAnswer, transaction } from "../ProviderStub.ts"
import { askOrder, bank, chargeOrder, corridor, momo, payoutOrder, quoteOrder } from "./Orders.ts"

const currencies = Object.keys(exponents).filter(isCurrency)
const anyCurrency = fc.constantFrom<Currency>(...currencies)
const anyAmount = fc.bigInt({ min: 1n, max: LARGEST_AMOUNT }).map(minor)

const answered = (body: string): ProviderResponse => ({ _tag: "Answered", status: 200, contentType: "application/json", body })
const amountIn = (body: string): string | undefined => /"amount":([0-9.]+)[,}]/.exec(body)?.[1]

describe("amounts", () => {
  it("keep every digit from an order to the wire and back, as a number and as a string", () => {
    const order = payoutOrder()
    fc.assert(
      fc.property(anyCurrency, anyAmount, fc.boolean(), (currency, amount, isText) => {
        const sent = json(quotationBody(quoteOrder({ corridor: corridor("payout", "momo", "UG", currency), amount })))
        const decimal = amountIn(sent) ?? ""
        expect(decimal).toBe(toDecimal(amount, currency))
        const found = transaction(order.reference, { status: "successful", currency, amount: "@", fees: "@" })
        const said = json(listAnswer(found)).replaceAll('"@"', isText ? `"${decimal}"` : decimal)
        expect(foundInPage("payout", { ...askOrder(order.reference), currency }, answered(said), 100)).toMatchObject({
          fact: { _tag: "Succeeded", amount, currency, fee: amount }
        })
      })
    )
  })

  it("are never booked when they are finer than the currency", () => {
    const order = payoutOrder()
    fc.assert(
      fc.property(anyCurrency, anyAmount, fc.integer({ min: 1, max: 9 }), (currency, amount, digit) => {
        const decimal = toDecimal(amount, currency)
        const finer = `${decimal}${decimal.includes(".") ? "" : "."}${digit}`
        const said = json(payoutAnswer(order.reference, { status: "successful", currency, amount: finer, fees: null }))
        expect(unlessFound(payoutOutcome(answered(said), { reference: order.reference, currency })).fact).toMatchObject({
          _tag: "Unknown"
        })
      })
    )
  })

  it("are part of an answer only if its identifier can be stored", () => {
    const order = payoutOrder()
    const said = json(payoutAnswer(order.reference, { transactionId: "BP1\u0000" }))
    expect(unlessFound(payoutOutcome(answered(said), { reference: order.reference, currency: "UGX" })).fact).toMatchObject({
      _tag: "Unknown",
      reason: "bad_response"
    })
  })

  it("come with a payment page only where the corridor has one, and never the tenant's own address", () => {
    const shop = "https://shop.example/back"
    const read = (customerAction: "redirect" | "handset_pin", redirectUrl: string) => {
      const order = chargeOrder("1234", {
        redirectUrl: shop,
        corridor: { ...corridor("collection", "momo", "UG", "UGX"), customerAction }
      })
      return unlessFound(chargeOutcome(answered(json(chargeAnswer(order.reference, { redirectUrl }))), order)).fact._tag
    }
    expect(read("redirect", "https://pay.example/1")).toBe("NeedsRedirect")
    expect(read("redirect", shop)).toBe("Unknown")
    expect(read("handset_pin", shop)).toBe("Accepted")
  })

  // A row with an empty type was no row of ours, and the charge counted as not found.
  it.each([
    [{ type: "" }, "StillPending"],
    [{ type: "COLLECTION_V2" }, "Unknown"],
    [{ transactionRef: "" }, "Unknown"],
    [{ type: "payout" }, undefined]
  ])("are looked for in a row that says %o", (said, expected) => {
    const order = askOrder(chargeOrder("1234").reference)
    const row = { ...transaction(order.reference, { type: "collection", status: "pending" }), ...said }
    const found = foundInPage("collection", order, answered(json(listAnswer(row))), 100)
    expect(typeof found === "string" ? undefined : found.fact._tag).toBe(expected)
  })

  it("come with an unknown outcome when the status is not one of Eversend's", () => {
    const order = payoutOrder()
    fc.assert(
      fc.property(fc.string(), (status) => {
        fc.pre(!["pending", "successful", "failed"].includes(status))
        const said = answered(json(payoutAnswer(order.reference, { status })))
        const { alarm, fact } = unlessFound(payoutOutcome(said, { reference: order.reference, currency: "UGX" }))
        expect(fact).toMatchObject({ _tag: "Unknown", reason: "bad_response" })
        expect(alarm).not.toBeNull()
      })
    )
  })
})

describe("the body that is sent", () => {
  const { reference } = payoutOrder()

  it("of a payout to a phone contains no name", () => {
    expect(payoutBody(payoutOrder({ reference, destination: momo("1234") }), "")).toEqual({
      token: "a-quotation-token",
      transactionRef: reference,
      firstName: "Payment",
      lastName: "Recipient",
      country: "UG",
      phoneNumber: "+256700001234"
    })
  })

  it("has the recipient's number where the payout names one, and no other one", () => {
    const sender = {
      name: Redacted.make("Acme Ltd"),
      country: "UG",
      msisdn: Redacted.make("+256772999999"),
      address: Redacted.make("1 Main Street")
    }
    const account = {
      _tag: "bank",
      country: "UG",
      bankCode: "01",
      accountNumber: Redacted.make("0012001234"),
      accountName: Redacted.make("Jane Doe")
    } as const
    const sent = (msisdn: Redacted.Redacted | null) =>
      payoutBody({ ...payoutOrder({ reference, destination: { ...account, msisdn } }), sender }, "A Bank")
    expect(sent(Redacted.make("+256772001241"))).toMatchObject({ phoneNumber: "+256772001241" })
    expect(sent(null)).not.toHaveProperty("phoneNumber")
  })

  it("of a payout to a bank account contains the holder's name", () => {
    expect(payoutBody(payoutOrder({ reference, destination: bank("1234") }), "Centenary Bank")).toEqual({
      token: "a-quotation-token",
      transactionRef: reference,
      firstName: "Jane",
      lastName: "Mary Doe",
      country: "UG",
      bankName: "Centenary Bank",
      bankCode: "16",
      bankAccountName: "Jane Mary Doe",
      bankAccountNumber: "001201234"
    })
  })

  it("of a quote by destination has the amount in the destination's currency", () => {
    const order = quoteOrder({
      amount: minor(12_345n),
      amountType: "DESTINATION",
      destinationCurrency: "KES",
      destinationCountry: "KE"
    })
    expect(json(quotationBody(order))).toBe(
      '{"sourceWallet":"UGX","amount":123.45,"amountType":"DESTINATION","type":"momo","destinationCountry":"KE","destinationCurrency":"KES"}'
    )
  })

  it("of a charge contains only known data of the payer", () => {
    const order = chargeOrder("1234", { reference })
    expect(Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Unknown))(json(chargeBody(order)))).toEqual({
      phone: "+256700001234",
      amount: 20_000,
      country: "UG",
      currency: "UGX",
      transactionRef: reference
    })
  })
})
