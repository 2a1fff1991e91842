import { Option } from "effect"
import { describe, expect, it } from "vitest"
import { exponents } from "../../../src/domain/Currency.ts"
import { mtnCallbacks } from "../../../src/providers/mtn/Callback.ts"
import { marketCountries, marketOf } from "../../../src/providers/mtn/Networks.ts"
import { misfit, paymentBody, transferBody } from "../../../src/providers/mtn/Order.ts"
import { quoteBy } from "../../../src/providers/mtn/Quote.ts"
import { corridorOf, momo, newReference, payerOf, quoteOrder } from "../contract/Orders.ts"
import { charge, ghana, payout, settings, statusOf, uganda } from "./Orders.ts"

const reference = newReference()

describe("the body of an order", () => {
  it("has major units as text, the reference as externalId, and a note without apostrophes", () => {
    const narration = `It's Jane’s ${"x".repeat(200)}`
    expect(paymentBody(charge({ reference, narration }, ghana))).toStrictEqual({
      amount: "123.45",
      currency: "GHS",
      externalId: reference,
      payer: { partyIdType: "MSISDN", partyId: "233200001234" },
      payerMessage: `It s Jane s ${"x".repeat(148)}`,
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

  it("is for one country, its currency, and MTN's own network", () => {
    const market = marketOf("UG")
    const corridor = corridorOf(uganda, "payout")
    const party = payerOf(uganda, "1234")
    expect(misfit(market, corridor, party)).toBeUndefined()
    expect(misfit(undefined, corridor, party)).toBe("no account in this country")
    expect(misfit(marketOf("GH"), corridor, party)).toBe("no account in this country")
    expect(misfit(market, { ...corridor, currency: "USD" }, party)).toBe("no account in this currency")
    expect(misfit(market, corridor, { ...party, network: "AIRTEL" })).toBe("another network")
  })

  it("has a currency that determines its country", () => {
    const currencies = marketCountries.map((country) => marketOf(country).currency)
    expect(new Set(currencies).size).toBe(currencies.length)
    expect(currencies.every((currency) => currency in exponents)).toBe(true)
  })
})

describe("a quote", () => {
  const markets = [marketOf("UG"), marketOf("GH")]
  const contract = settings("")
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
    expect(quoteBy(contract, markets, order, 0)).toStrictEqual(quote)
    expect(quoteBy(contract, markets, { ...order, amountType: "DESTINATION" }, 0)).toStrictEqual(quote)
  })

  const rwanda = momo("RW", "RWF", "MTN", "25078000")
  it.each([
    ["across a currency", { ...quoteOrder(uganda, ""), destinationCurrency: "GHS" as const }],
    ["across a border", { ...quoteOrder(uganda, ""), destinationCountry: "GH" }],
    ["where there is no account", quoteOrder(rwanda, "")],
    ["to a bank", { ...quoteOrder(uganda, ""), corridor: { ...corridorOf(uganda, "payout"), method: "bank" as const } }]
  ])("is refused %s", (_, order) => {
    expect(quoteBy(contract, markets, order, 0)).toMatchObject({ _tag: "QuoteRefused", kind: "other" })
  })

  it("is refused where the contract names no fee", () => {
    expect(quoteBy({ fees: [] }, markets, quoteOrder(uganda, ""), 0)).toMatchObject({ _tag: "QuoteRefused", kind: "other" })
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
