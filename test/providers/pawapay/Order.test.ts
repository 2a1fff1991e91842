import { Redacted, Result } from "effect"
import { describe, expect, it } from "vitest"
import { minor } from "../../../src/domain/Money.ts"
import { payoutFees } from "../../../src/providers/ContractFees.ts"
import { readSchedule } from "../../../src/providers/FeeSchedule.ts"
import { pricedPlaces } from "../../../src/providers/pawapay/Networks.ts"
import { depositBody, payoutBody } from "../../../src/providers/pawapay/Order.ts"
import { quoteOf } from "../../../src/providers/pawapay/Quote.ts"
import { paymentId } from "../../../src/providers/pawapay/Wire.ts"
import type { QuoteOrder } from "../../../src/services/ports/Provider.ts"
import { simulatedPayoutFees } from "../../../src/simulator/Fees.ts"
import { chargeOf, chargeOrder, corridor, party, payoutOf, payoutOrder } from "./Orders.ts"

describe("the body of a payout", () => {
  it("has pawaPay's name of the network, our identifier of the payment and our reference", () => {
    const order = payoutOrder({ narration: "Salary — March/2026, part 2" })
    expect(payoutBody(order)).toEqual({
      payoutId: paymentId(order.reference),
      amount: "20000",
      currency: "UGX",
      recipient: { type: "MMO", accountDetails: { provider: "MTN_MOMO_UGA", phoneNumber: "256770001234" } },
      clientReferenceId: order.reference,
      customerMessage: "Salary March 2026 part"
    })
  })

  it("has no message when too little of the narration can be shown", () => {
    for (const narration of [null, "", "abc", "日本語", "…!?"])
      expect(payoutBody(payoutOrder({ narration }))).not.toHaveProperty("customerMessage")
  })

  const networks = [
    ["UG", "UGX", "AIRTEL", "AIRTEL_OAPI_UGA"],
    ["KE", "KES", "MPESA", "MPESA_KEN"],
    ["RW", "RWF", "MTN", "MTN_MOMO_RWA"],
    ["RW", "RWF", "AIRTEL", "AIRTEL_RWA"],
    ["GH", "GHS", "MTN", "MTN_MOMO_GHA"],
    ["GH", "GHS", "TELECEL", "VODAFONE_GHA"],
    ["GH", "GHS", "AT", "AIRTELTIGO_GHA"],
    ["TZ", "TZS", "AIRTEL", "AIRTEL_TZA"],
    ["TZ", "TZS", "HALOTEL", "HALOTEL_TZA"],
    ["TZ", "TZS", "TIGO", "TIGO_TZA"],
    ["TZ", "TZS", "MPESA", "VODACOM_TZA"],
    ["ZM", "ZMW", "MTN", "MTN_MOMO_ZMB"],
    ["ZM", "ZMW", "AIRTEL", "AIRTEL_OAPI_ZMB"],
    ["ZM", "ZMW", "ZAMTEL", "ZAMTEL_ZMB"],
    ["CM", "XAF", "MTN", "MTN_MOMO_CMR"],
    ["CM", "XAF", "ORANGE", "ORANGE_CMR"],
    ["CI", "XOF", "MTN", "MTN_MOMO_CIV"],
    ["CI", "XOF", "ORANGE", "ORANGE_CIV"],
    ["CI", "XOF", "WAVE", "WAVE_CIV"],
    ["BF", "XOF", "MOOV", "MOOV_BFA"],
    ["BF", "XOF", "ORANGE", "ORANGE_BFA"]
  ] as const
  for (const [country, currency, network, provider] of networks)
    it(`pays ${network} in ${country} as ${provider}`, () => {
      expect(payoutBody(payoutOf(country, currency, network, 100_000n))).toMatchObject({
        recipient: { accountDetails: { provider } }
      })
    })

  it("writes the exact amount in major units, without needless zeros", () => {
    const amounts = [
      [1n, "0.01"],
      [10n, "0.1"],
      [100n, "1"],
      [12_345n, "123.45"],
      [10_000n, "100"],
      [9_007_199_254_740_991n, "90071992547409.91"]
    ] as const
    for (const [units, amount] of amounts) expect(payoutBody(payoutOf("KE", "KES", "MPESA", units))).toMatchObject({ amount })
    expect(payoutBody(payoutOf("RW", "RWF", "MTN", 1000n))).toMatchObject({ amount: "1000" })
  })
})

describe("a payment that pawaPay does not support is refused without a call", () => {
  const config = { fact: { _tag: "Refused", kind: "config" }, alarm: expect.any(String) }

  it("for its network, country or currency, and for every method but mobile money", () => {
    expect(payoutBody(payoutOf("KE", "KES", "AIRTEL", 1000n))).toMatchObject(config)
    expect(payoutBody(payoutOf("NG", "NGN", "MTN", 1000n))).toMatchObject(config)
    expect(payoutBody(payoutOf("UG", "KES", "MTN", 1000n))).toMatchObject(config)
    expect(payoutBody(payoutOf("UG", "UGX", "toString", 1000n))).toMatchObject(config)
    expect(depositBody(chargeOf("CI", "XOF", "WAVE", 1000n))).toMatchObject(config)
    const tag = { _tag: "wallet", country: "UG", identifier: "tag", value: Redacted.make("jane") } as const
    expect(payoutBody(payoutOrder({ destination: tag }))).toMatchObject(config)
  })

  it("for decimals where the network takes whole amounts: Kenya's deposits, and all but Airtel's payments in Tanzania", () => {
    const inexact = { fact: { _tag: "Refused", kind: "other", failure: { code: "provider_rejected" } }, alarm: null }
    expect(depositBody(chargeOf("KE", "KES", "MPESA", 1050n))).toMatchObject(inexact)
    expect(depositBody(chargeOf("KE", "KES", "MPESA", 1000n))).toMatchObject({ amount: "10" })
    expect(payoutBody(payoutOf("KE", "KES", "MPESA", 1050n))).toMatchObject({ amount: "10.5" })
    for (const network of ["TIGO", "HALOTEL", "MPESA"]) {
      expect(depositBody(chargeOf("TZ", "TZS", network, 10_001n))).toMatchObject(inexact)
      expect(payoutBody(payoutOf("TZ", "TZS", network, 10_001n))).toMatchObject(inexact)
      expect(payoutBody(payoutOf("TZ", "TZS", network, 10_000n))).toMatchObject({ amount: "100" })
    }
    expect(depositBody(chargeOf("TZ", "TZS", "AIRTEL", 10_001n))).toMatchObject({ amount: "100.01" })
  })

  it("for a deposit by Orange in Burkina Faso without the payer's own code, which is sent where there is one", () => {
    const order = chargeOf("BF", "XOF", "ORANGE", 1000n)
    expect(depositBody(order)).toMatchObject(config)
    const otp = { pinId: "", pin: Redacted.make("123456") }
    expect(depositBody({ ...order, otp })).toMatchObject({ preAuthorisationCode: "123456" })
    expect(depositBody(chargeOrder())).not.toHaveProperty("preAuthorisationCode")
  })
})

describe("a quote", () => {
  const order = (change: Partial<QuoteOrder> = {}): QuoteOrder => ({
    corridor: corridor("payout", "TZ", "TZS"),
    amount: minor(1_000_000n),
    amountType: "SOURCE",
    destinationCurrency: "TZS",
    destinationCountry: "TZ",
    destination: null,
    ...change
  })

  it("is the unchanged amount and the contract's fee, whichever side is fixed", () => {
    for (const amountType of ["SOURCE", "DESTINATION"] as const)
      expect(quoteOf(order({ amountType }), simulatedPayoutFees, 0)).toEqual({
        principal: 1_000_000n,
        fee: 100_000n,
        destinationAmount: 1_000_000n,
        destinationCurrency: "TZS",
        rate: null,
        expiresInMs: 1_800_000,
        token: ""
      })
  })

  it("is refused across currencies, without a fee in the contract, and to a bank", () => {
    const other = { _tag: "QuoteRefused", kind: "other" }
    expect(quoteOf(order({ destinationCurrency: "UGX" }), simulatedPayoutFees, 0)).toMatchObject(other)
    expect(quoteOf(order(), payoutFees.of("UGX:momo:1000") ?? [], 0)).toMatchObject(other)
    const bank = { ...corridor("payout", "KE", "KES"), method: "bank" } as const
    expect(quoteOf(order({ corridor: bank, destinationCurrency: "KES" }), simulatedPayoutFees, 0)).toMatchObject(other)
  })

  it("is refused for decimals where the recipient's network takes whole amounts", () => {
    const tigo = { destination: party("TZ", "TIGO", "255713456789") }
    expect(quoteOf(order({ ...tigo, amount: minor(1_000_001n) }), simulatedPayoutFees, 0)).toMatchObject({ kind: "amount" })
    expect(quoteOf(order(tigo), simulatedPayoutFees, 0)).toMatchObject({ principal: 1_000_000n })
  })

  it("has the fee of the country where the money arrives, where several have one currency", () => {
    const entry = { direction: "payout", currency: "XOF", from: "2026-01-01" }
    const entries = [
      { ...entry, country: "CI", percent: "1" },
      { ...entry, country: "BF", percent: "2" },
      { ...entry, country: "BF", network: "MOOV", percent: "3" }
    ]
    const fees = Result.getOrThrow(readSchedule(Buffer.from(JSON.stringify(entries)), pricedPlaces))
    const feeIn = (country: string, network: string | null) => {
      const destination = network === null ? null : party(country, network, "22670001234")
      const from = { corridor: corridor("payout", "CI", "XOF"), destinationCurrency: "XOF", amount: minor(10_000n) } as const
      return quoteOf(order({ ...from, destinationCountry: country, destination }), fees, Date.parse("2026-06-01T00:00:00Z"))
    }
    expect(feeIn("CI", "ORANGE")).toMatchObject({ fee: 100n })
    expect(feeIn("BF", "ORANGE")).toMatchObject({ fee: 200n })
    expect(feeIn("BF", "MOOV")).toMatchObject({ fee: 300n })
    expect(feeIn("BF", null)).toMatchObject({ fee: 200n })
  })
})
