import { Option } from "effect"
import { describe, expect, it } from "vitest"
import { exponents } from "../../../src/domain/Currency.ts"
import { mtnCallbacks } from "../../../src/providers/mtn/Callback.ts"
import type { MtnSettings } from "../../../src/providers/mtn/Client.ts"
import { marketCountries, marketOf, NETWORK } from "../../../src/providers/mtn/Networks.ts"
import { paymentBody, transferBody } from "../../../src/providers/mtn/Order.ts"
import { countryQuote } from "../../../src/providers/Quotes.ts"
import type { QuoteOrder } from "../../../src/services/ports/Provider.ts"
import { corridorOf, momo, newReference, payerOf, quoteOrder } from "../contract/Orders.ts"
import { charge, ghana, payout, settings, statusOf, uganda } from "./Orders.ts"

const reference = newReference()

describe("the body of an order", () => {
  it("has major units as text, the reference as externalId, and a note without apostrophes, of at most 128 characters", () => {
    const narration = `It's Jane’s ${"x".repeat(200)}`
    expect(paymentBody(charge({ reference, narration }, ghana))).toStrictEqual({
      amount: "123.45",
      currency: "GHS",
      externalId: reference,
      payer: { partyIdType: "MSISDN", partyId: "233200001234" },
      payerMessage: `It s Jane s ${"x".repeat(116)}`,
      payeeNote: reference
    })
    const order = payout({ reference })
    const payee = payerOf(momo("UG", "UGX", "MTN", "+256 700-00"), "1234")
    expect(transferBody(order, payee)).toStrictEqual({
      amount: "20000",
      currency: "UGX",
      externalId: reference,
      payee: { partyIdType: "MSISDN", partyId: "256700001234" },
      payerMessage: reference,
      payeeNote: reference
    })
  })

  it("has a currency that determines its country", () => {
    const currencies = marketCountries.map((country) => marketOf(country).currency)
    expect(new Set(currencies).size).toBe(currencies.length)
    expect(currencies.every((currency) => currency in exponents)).toBe(true)
  })
})

describe("a quote", () => {
  const markets = [marketOf("UG"), marketOf("GH")]
  const quoteBy = (order: QuoteOrder, { fees }: Pick<MtnSettings, "fees"> = settings("")) =>
    countryQuote({ accounts: markets, network: NETWORK }, order, fees, 0)
  it("has the fee of the contract, and the unchanged amount", () => {
    const order = quoteOrder(ghana, "1234")
    const quote = {
      principal: 12_345n,
      fee: 500n,
      destinationAmount: 12_345n,
      destinationCurrency: "GHS",
      rate: null,
      expiresInMs: 1_800_000,
      token: ""
    }
    expect(quoteBy(order)).toStrictEqual(quote)
    expect(quoteBy({ ...order, amountType: "DESTINATION" })).toStrictEqual(quote)
  })

  const rwanda = momo("RW", "RWF", "MTN", "25078000")
  it.each([
    ["across a currency", { ...quoteOrder(uganda, ""), destinationCurrency: "GHS" as const }],
    ["across a border", { ...quoteOrder(uganda, ""), destinationCountry: "GH" }],
    ["where there is no account", quoteOrder(rwanda, "")],
    ["to a bank", { ...quoteOrder(uganda, ""), corridor: { ...corridorOf(uganda, "payout"), method: "bank" as const } }]
  ])("is refused %s", (_, order) => {
    expect(quoteBy(order)).toMatchObject({ _tag: "QuoteRefused", kind: "other" })
  })

  it("is refused where the contract names no fee", () => {
    expect(quoteBy(quoteOrder(uganda, ""), { fees: [] })).toMatchObject({ _tag: "QuoteRefused", kind: "other" })
  })
})

describe("a callback is a hint, whoever sent it", () => {
  const verified = (body: string) =>
    mtnCallbacks.verify({ method: "PUT", path: "/webhooks/mtn/key", headers: {}, body: Buffer.from(body) })
  const hint = (of: string | null, says = "successful") => Option.some({ reference: of, providerReference: null, says })

  it("by our reference", () => {
    expect(verified(JSON.stringify(statusOf(reference)))).toEqual(hint(reference))
    expect(verified(`{\n "status" : "FAILED", "reason":{"code":"EXPIRED"},"externalId":"${reference}" }`)).toEqual(
      hint(reference, "failed")
    )
  })
  it("without a reference it points at nothing, and is stored for a person", () => {
    expect(verified(JSON.stringify(statusOf("order-7")))).toEqual(hint(null))
    expect(verified('{"status":"SUCCESSFUL"}')).toEqual(hint(null))
  })
  it.each(["", "hello", "[]", "{}", '{"externalId":"x"}', '{"status":5}', '{"status":"A","amount":{}}'])(
    "%j is not a callback",
    (body) => {
      expect(verified(body)).toEqual(Option.none())
    }
  )
})
