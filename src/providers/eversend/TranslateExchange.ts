import { Option, Result } from "effect"
import type { Currency } from "../../domain/Currency.ts"
import { RawJson } from "../../domain/Json.ts"
import { fromDecimal, isBeyond, toDecimal } from "../../domain/Money.ts"
import type { ExchangeOrder, ExchangeOutcome, ExchangeQuote, QuoteRefused } from "../../services/ports/Provider.ts"
import { decoded, type Reading, unreadable, withoutAlarm } from "../Reading.ts"
import type { ProviderResponse } from "../Transport.ts"
import { broken, type NoQuote, noQuoteBy, refusing, tooLarge } from "./Quote.ts"
import { noAnswer } from "./Reading.ts"
import { broughtBy, refusal } from "./Translate.ts"
import { ExchangeAnswer, ExchangeQuotationAnswer } from "./Wire.ts"

/** An exchange's token lives 30 s; the rest is for the way there and back, and for clocks that differ. */
export const EXCHANGE_QUOTE_LIFE_MS = 30_000 - 5_000

/** POST /exchanges/quotation: by the source only, in major units to the digit. */
export const exchangeQuotationBody = ({ amount, currency, destinationCurrency }: ExchangeOrder): object => ({
  from: currency,
  to: destinationCurrency,
  amount: new RawJson(toDecimal(amount, currency))
})

/** The answer to it. `polledAt` is before it was asked for, so that the quote expires early rather than late. */
export const exchangeQuoteOf = (
  response: ProviderResponse,
  order: ExchangeOrder,
  askedAt: number
): ExchangeQuote | QuoteRefused | NoQuote => {
  if (response._tag === "Answered" && refusing.has(response.status))
    return { _tag: "QuoteRefused", kind: "other", note: `HTTP ${response.status}` }
  const answer = Option.getOrUndefined(decoded(ExchangeQuotationAnswer, response))
  if (answer === undefined) return noQuoteBy(response)
  const { quotation, token } = answer.data
  if (quotation.destCurrency === order.destinationCurrency && isBeyond(quotation.destAmount, order.destinationCurrency))
    return tooLarge
  const brought = broughtBy(quotation.destAmount, quotation.destCurrency)
  if (quotation.baseCurrency !== order.currency || brought?.currency !== order.destinationCurrency)
    return broken("the currencies are not those that were asked for")
  if (!isAmount(quotation.baseAmount, order)) return broken("the amount is not the one that was asked for")
  return {
    ...order,
    destinationAmount: brought.amount,
    rawDestinationAmount: brought.raw,
    rate: quotation.rate,
    expiresAt: askedAt + EXCHANGE_QUOTE_LIFE_MS,
    token
  }
}

/** The answer to POST /exchanges, which is executed by then. */
export const exchangeOutcome = (response: ProviderResponse): Reading<ExchangeOutcome> => {
  if (response._tag === "NotSent") return withoutAlarm({ _tag: "NotSent", note: response.note })
  const refused = refusal("exchange", response)
  if (refused !== undefined) return refused
  const answer = Option.getOrUndefined(decoded(ExchangeAnswer, response))
  if (answer === undefined) return noAnswer(response)
  const { destination, source } = answer.data
  const left = broughtBy(source.amount, source.currency)
  const brought = broughtBy(destination.amount, destination.currency)
  if (left === undefined || brought === undefined) return unreadable("the amounts of an exchange cannot be read", "")
  return withoutAlarm({
    _tag: "Succeeded",
    // The answer names no transaction; a query by our reference does.
    providerReference: null,
    amount: left.amount,
    currency: left.currency,
    fee: null,
    exchanged: brought,
    note: `brought ${destination.amount} ${destination.currency}`
  })
}

const isAmount = (text: string, { amount, currency }: { readonly amount: bigint; readonly currency: Currency }): boolean => {
  const read = fromDecimal(text, currency)
  return Result.isSuccess(read) && read.success === amount
}
