import { Redacted } from "effect"
import { describe, expect, it } from "vitest"
import { json } from "../../../src/domain/Json.ts"
import { minor } from "../../../src/domain/Money.ts"
import type { MomoParty } from "../../../src/domain/Party.ts"
import { accountOf, chargeRequest, senderOf, transferBody } from "../../../src/providers/flutterwave/Order.ts"
import { feePath, quoteOf, unquotable } from "../../../src/providers/flutterwave/Quote.ts"
import type { ProviderResponse } from "../../../src/providers/Transport.ts"
import { bank, chargeOrder, momo, orderOn, quoteOrder, through, wallet } from "../contract/Orders.ts"

const answered = (status: number, body: unknown): ProviderResponse => ({
  _tag: "Answered",
  status,
  contentType: "application/json",
  body: JSON.stringify(body)
})
const error = { status: "error", message: "a text", data: null }

describe("the body of an order", () => {
  const source = (country: string, network: string): MomoParty => ({
    _tag: "momo",
    msisdn: Redacted.make("+256 700 001234"),
    network,
    country
  })
  const uganda = chargeOrder(momo("UG", "UGX", "MTN", "25670000"), "1234")
  const quote = {
    principal: minor(12_345n),
    fee: minor(3000n),
    destinationAmount: minor(12_345n),
    rate: null,
    expiresInMs: 1,
    token: ""
  }

  it("names each network by Flutterwave's name, and refuses others", () => {
    const networks = (country: string, ...ours: ReadonlyArray<string>) =>
      ours.map((network) => {
        const call = chargeRequest({ ...uganda, source: source(country, network) }, "example.com")
        return call === undefined ? undefined : [call.path.replace("/charges?type=", ""), call.body.network]
      })
    expect(networks("GH", "MTN", "TELECEL", "AT", "VODAFONE")).toStrictEqual([
      ["mobile_money_ghana", "MTN"],
      ["mobile_money_ghana", "VODAFONE"],
      ["mobile_money_ghana", "AIRTELTIGO"],
      undefined
    ])
    expect(networks("TZ", "MPESA", "TIGO", "AIRTEL", "HALOTEL").map((one) => one?.[1])).toStrictEqual([
      "Vodacom",
      "Tigo",
      "Airtel",
      "Halopesa"
    ])
    expect([...networks("BF", "ORANGE"), ...networks("KE", "MTN")]).toStrictEqual([undefined, undefined])
    // Issue 38, line 14: no charge of Moov is documented.
    expect(networks("CI", "MTN", "ORANGE", "WAVE", "MOOV").map((one) => one?.[1])).toStrictEqual([
      "MTN",
      "ORANGEMONEY",
      "WAVE",
      undefined
    ])
    const banks = (country: string, ...ours: ReadonlyArray<string>) =>
      ours.map((one) => accountOf(source(country, one))?.account_bank)
    expect(banks("UG", "MTN", "AIRTEL")).toStrictEqual(["MPS", "MPS"])
    expect(banks("GH", "MTN", "TELECEL", "AT")).toStrictEqual(["MTN", "VODAFONE", "AIRTELTIGO"])
    expect(banks("CI", "MTN", "ORANGE", "MOOV", "WAVE")).toStrictEqual(["FMM", "orangemoney", "Moov", "WAVE"])
    expect(banks("CM", "MTN", "ORANGE")).toStrictEqual(["MTN", "ORANGEMONEY"])
    expect([...banks("BF", "MOOV"), ...banks("KE", "AIRTEL")]).toStrictEqual([undefined, undefined])
  })

  it("has amounts as exact JSON numbers, and whole ones as integers", () => {
    const amountOf = (units: bigint, currency: "KES" | "UGX") => {
      const { amount, currency: unit } = chargeRequest(
        {
          ...uganda,
          amount: minor(units),
          corridor: { ...uganda.corridor, currency }
        },
        "example.com"
      )?.body ?? { amount: null, currency: null }
      return `${json(amount)} ${unit}`
    }
    expect(amountOf(9_007_199_254_740_991n, "KES")).toBe("90071992547409.91 KES")
    expect(amountOf(550_000n, "KES")).toBe("5500 KES")
    expect(amountOf(10_050n, "KES")).toBe("100.5 KES")
    expect(amountOf(500n, "UGX")).toBe("500 UGX")
  })

  // Issue 38, line 14.
  it("gives each payer without an e-mail address one that is nobody else's, and the number no plus sign", () => {
    const bodyOf = (order: typeof uganda) => chargeRequest({ ...order, source: source("UG", "MTN") }, "payers.shop.example")?.body
    const second = chargeOrder(momo("UG", "UGX", "MTN", "25670000"), "1234")
    expect(bodyOf(uganda)).toMatchObject({
      tx_ref: uganda.reference,
      phone_number: "256700001234",
      email: `${uganda.reference.toLowerCase()}@payers.shop.example`
    })
    expect(bodyOf(second)?.email).not.toBe(bodyOf(uganda)?.email)
    const payerOf = (email: string) => ({
      ...uganda,
      payer: { firstName: null, lastName: null, phone: null, externalId: null, email: Redacted.make(email) }
    })
    expect(bodyOf(payerOf("a@b.example"))?.email).toBe("a@b.example")
    expect(bodyOf(payerOf(`${"a".repeat(100)}@b.example`))?.email).toBe(bodyOf(uganda)?.email)
  })

  // Issue 38, line 14.
  it("names the branch that the tenant chose, and reaches no bank in its country without one", () => {
    const ghana = bank("GH", "GHS", "GH190100", "001200")
    expect(accountOf(through("GH190102", ghana).party("1234"))).toMatchObject({
      account_bank: "GH190100",
      destination_branch_code: "GH190102"
    })
    expect(accountOf(ghana.party("1234"))).toBeUndefined()
    expect(unquotable(quoteOrder(ghana, "1234"))).toMatchObject({ _tag: "QuoteRefused", kind: "other" })
    const kenya = bank("KE", "KES", "01", "001200")
    expect(accountOf(through("KE01", kenya).party("1234"))).not.toHaveProperty("destination_branch_code")
  })

  it("names the sender of a transfer in Kenya where it is known", () => {
    const kenya = momo("KE", "KES", "MPESA", "25470000")
    const order = orderOn({ ...quote, destinationCurrency: "KES" }, kenya, "1234")
    const account = accountOf(order.destination)
    if (account === undefined) throw new Error("no account")
    const sender = { name: "Acme Ltd", country: "KE", phone: "254700000000" }
    expect(JSON.parse(json(transferBody(order, account, sender)))).toStrictEqual({
      account_bank: "MPS",
      account_number: "254700001234",
      beneficiary_name: "Payment Recipient",
      amount: 123.45,
      currency: "KES",
      debit_currency: "KES",
      reference: order.reference,
      meta: [{ sender: "Acme Ltd", sender_country: "KE", mobile_number: "254700000000" }]
    })
    expect(transferBody(order, account, null)).not.toHaveProperty("meta")
    // Issue 38, line 9: for banks, too, and the tenant's own before the account's.
    const own = {
      name: Redacted.make("Šop  Łtd & Sons"),
      country: "KE",
      msisdn: Redacted.make("+254711002233"),
      address: Redacted.make("1 Moi Avenue")
    }
    const told = senderOf(own, sender)
    const kenyanBank = bank("KE", "KES", "01", "001200")
    const toBank = orderOn({ ...quote, destinationCurrency: "KES" }, kenyanBank, "1234")
    const bankAccount = accountOf(toBank.destination)
    if (bankAccount === undefined) throw new Error("no account")
    expect(transferBody(toBank, bankAccount, told)).toMatchObject({
      meta: [{ sender: "Šop Łtd & Sons", sender_country: "KE", mobile_number: "254711002233" }]
    })
    expect([senderOf(null, sender), senderOf(null, null)]).toStrictEqual([sender, null])
    const uganda = orderOn({ ...quote, destinationCurrency: "UGX" }, momo("UG", "UGX", "MTN", "25670000"), "1234")
    expect(transferBody(uganda, account, told)).not.toHaveProperty("meta")
  })

  // The official SDK refuses a transfer between wallets without a narration, and lets the others go without.
  it("has a narration in every transfer to another merchant's wallet: the reference, where the payout has none", () => {
    const nigerian = wallet("NG", "NGN", "2009")
    const order = orderOn({ ...quote, destinationCurrency: "NGN" }, nigerian, "1234")
    const account = accountOf(order.destination)
    if (account === undefined) throw new Error("no account")
    expect(JSON.parse(json(transferBody(order, account, null)))).toStrictEqual({
      account_bank: "flutterwave",
      account_number: "20091234",
      amount: 123.45,
      currency: "NGN",
      debit_currency: "NGN",
      reference: order.reference,
      narration: order.reference
    })
    expect(transferBody({ ...order, narration: "Settlement" }, account, null)).toMatchObject({ narration: "Settlement" })
  })
})

describe("a quote has the fee that was asked for", () => {
  const order = quoteOrder(bank("NG", "NGN", "044", "069000"), "1234")
  const fees = (...data: ReadonlyArray<object>) => answered(200, { status: "success", data })

  it("rounded up when it is finer than the currency, for the reservation as for the booking", () => {
    expect(feePath(order)).toBe("/transfers/fee?amount=123.45&currency=NGN&type=account")
    expect(quoteOf(fees({ currency: "NGN", fee_type: "value", fee: 26.875 }), order)).toMatchObject({
      fee: 2688n,
      principal: 12_345n
    })
    expect(quoteOf(fees({ currency: "NGN", fee_type: "percentage", fee: 1.4 }), order)).toMatchObject({ fee: 173n })
    expect(quoteOf(fees({ currency: "NGN", fee_type: "percentage", fee: 1 }), order)).toMatchObject({ fee: 124n })
  })

  it("and is none when the fee is in another currency, of another kind, or more than one", () => {
    const none = { _tag: "NoQuote", alarm: expect.any(String) }
    expect(quoteOf(fees({ currency: "USD", fee_type: "value", fee: 1 }), order)).toMatchObject(none)
    expect(quoteOf(fees({ currency: "NGN", fee_type: "tiered", fee: 1 }), order)).toMatchObject(none)
    expect(quoteOf(fees(), order)).toMatchObject(none)
    const one = { currency: "NGN", fee_type: "value", fee: 1 }
    expect(quoteOf(fees(one, one), order)).toMatchObject(none)
    expect(quoteOf(answered(400, error), order)).toMatchObject({ _tag: "QuoteRefused", kind: "other" })
    expect(quoteOf(answered(503, error), order)).toStrictEqual({ _tag: "NoQuote", alarm: null })
  })

  it("and is refused without a call across currencies, and where Flutterwave does not pay", () => {
    const across = unquotable({ ...order, destinationCurrency: "KES", destinationCountry: "KE" })
    expect(across).toMatchObject({ _tag: "QuoteRefused", kind: "other" })
    expect(unquotable(quoteOrder(momo("BF", "XOF", "MOOV", "22670000"), "1234"))).toMatchObject({ kind: "other" })
    expect(unquotable(quoteOrder(bank("RW", "RWF", "01", "001200"), "1234"))).toMatchObject({ kind: "other" })
    const merchant = quoteOrder(wallet("UG", "UGX", "2009"), "1234")
    expect(unquotable(merchant)).toBeUndefined()
    const byEmail = { _tag: "wallet", country: "UG", identifier: "email", value: Redacted.make("o@example.com") } as const
    expect(unquotable({ ...merchant, destination: byEmail })).toMatchObject({ _tag: "QuoteRefused", kind: "party" })
  })
})
