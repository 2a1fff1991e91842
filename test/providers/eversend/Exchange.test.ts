import { describe, expect, it } from "vitest"
import { json } from "../../../src/domain/Json.ts"
import { minor } from "../../../src/domain/Money.ts"
import {
  EXCHANGE_QUOTE_LIFE_MS,
  exchangeOutcome,
  exchangeQuotationBody,
  exchangeQuoteOf
} from "../../../src/providers/eversend/Exchange.ts"
import { unlessFound } from "../MoneyCallAnswer.ts"

const order = { currency: "UGX", amount: minor(100n), destinationCurrency: "USD" } as const
const answered = (body: string, status = 200) =>
  ({ _tag: "Answered", status, contentType: "application/json; charset=utf-8", body }) as const

// As Eversend's own documentation writes them.
const quotation = `{"code":200,"data":{"expires":"2022-08-30T16:09:53+00:00","token":"eyJ","quotation":{"baseCurrency":"UGX",
  "baseAmount":100,"baseWalletBefore":498.78,"baseWalletAfter":398.78,"destCurrency":"USD","destAmount":0.025828573078999998,
  "destWalletBefore":1.52,"destWalletAfter":null,"rate":0.00025828573079}},"success":true}`
const exchange = `{"code":201,"data":{"source":{"currency":"UGX","amount":100,"balance":{"before":"398.78","after":"398.78"}},
  "destination":{"currency":"KES","amount":3.1,"balance":{"before":"1783.82","after":"1783.82"}}},"success":true}`

describe("Eversend's exchanges", () => {
  it("asks by the source amount in exact major units", () => {
    const body = exchangeQuotationBody({ currency: "KES", amount: minor(10_050n), destinationCurrency: "UGX" })
    expect(json(body)).toBe('{"from":"KES","to":"UGX","amount":100.50}')
  })

  it("rounds the quoted amount down to its currency, and keeps every digit that was sent", () => {
    expect(exchangeQuoteOf(answered(quotation), order, 1_000)).toStrictEqual({
      ...order,
      destinationAmount: 2n,
      rawDestinationAmount: "0.025828573078999998",
      rate: "0.00025828573079",
      expiresAt: 1_000 + EXCHANGE_QUOTE_LIFE_MS,
      token: "eyJ"
    })
  })

  it.each([
    ["another source", quotation.replace('"baseCurrency":"UGX"', '"baseCurrency":"RWF"')],
    ["another destination", quotation.replace('"destCurrency":"USD"', '"destCurrency":"EUR"')],
    ["another amount", quotation.replace('"baseAmount":100', '"baseAmount":101')],
    ["a destination that is no amount", quotation.replace("0.025828573078999998", "-1")]
  ])("does not accept a quotation with %s", (_, body) => {
    expect(exchangeQuoteOf(answered(body), order, 0)).toMatchObject({ _tag: "NoQuote", alarm: expect.any(String) })
  })

  it("distinguishes a refused quotation from one that is not available now", () => {
    expect(exchangeQuoteOf(answered("{}", 400), order, 0)).toMatchObject({ _tag: "QuoteRefused" })
    expect(exchangeQuoteOf(answered("{}", 503), order, 0)).toMatchObject({ _tag: "NoQuote", alarm: null })
    expect(exchangeQuoteOf({ _tag: "NotSent", note: "refused" }, order, 0)).toMatchObject({ _tag: "NoQuote", alarm: null })
  })

  it("reports the amounts that the exchange sold and bought", () => {
    expect(exchangeOutcome(answered(exchange))).toStrictEqual({
      fact: {
        _tag: "Succeeded",
        providerReference: null,
        amount: 100n,
        currency: "UGX",
        fee: null,
        exchanged: { amount: 310n, currency: "KES", raw: "3.1" },
        note: "brought 3.1 KES"
      },
      alarm: null
    })
  })

  it.each([
    ["a refusal of our own account", answered('{"message":"No permission"}', 403), "Refused"],
    ["a quotation that is over", answered('{"message":"Quotation token is invalid or has expired"}', 400), "Unknown"],
    ["an empty wallet", answered('{"message":"Insufficient wallet balance"}', 402), "Unknown"],
    ["a refusal in words that nobody knows", answered('{"message":"read ECONNRESET"}', 400), "Unknown"],
    ["an error of the server", answered("{}", 500), "Unknown"],
    ["an answer without amounts", answered('{"code":201,"data":{},"success":true}'), "Unknown"],
    // Rounded down it would be ours, and what the wallet lost beyond it nobody would see.
    ["a source that is finer than its currency", answered(exchange.replace('"amount":100,', '"amount":100.9,')), "Unknown"],
    ["a currency that is not known here", answered(exchange.replace('"KES"', '"ZZZ"')), "Unknown"],
    ["a call that never left", { _tag: "NotSent", note: "" } as const, "NotSent"],
    ["silence", { _tag: "Lost", reason: "timeout", note: "" } as const, "Unknown"]
  ])("reads %s", (_, given, expected) => {
    expect(unlessFound(exchangeOutcome(given)).fact._tag).toBe(expected)
  })
})
