import { Clock, Effect, Option, Result } from "effect"
import { RawJson } from "../../domain/Json.ts"
import { fromDecimal, isBeyond, toDecimal } from "../../domain/Money.ts"
import type {
  ExchangeOperations,
  ExchangeOrder,
  ExchangeOutcome,
  ExchangeQuote,
  QuoteRefused
} from "../../services/ports/Provider.ts"
import { decoded, unreadable, withoutAlarm } from "../AnswerParsing.ts"
import type { Connection } from "../Connection.ts"
import { type MoneyCallAnswer, moneyCallAnswer } from "../Movements.ts"
import { sumOf } from "../ProviderStatus.ts"
import { type NoQuote, requestQuote } from "../Quotes.ts"
import type { ProviderResponse } from "../Transport.ts"
import { broken, noQuoteBy, refusedQuote, tooLarge } from "./Quote.ts"
import { identity, moneyCallRefusal } from "./Refusals.ts"
import { broughtBy } from "./Translate.ts"
import { ExchangeAnswer, ExchangeQuotationAnswer } from "./Wire.ts"

// Exchanges between the account's own wallets.

/** An exchange's token is valid for 30 s; the margin covers transit and clock differences. */
export const EXCHANGE_QUOTE_LIFE_MS = 30_000 - 5_000

export const quoteExchange = (connection: Connection): ExchangeOperations["quote"] =>
  Effect.fnUntraced(function* (order) {
    const askedAt = yield* Clock.currentTimeMillis
    const body = exchangeQuotationBody(order)
    const call = { operation: "exchange_quotation", method: "POST", path: "/exchanges/quotation", body } as const
    return yield* requestQuote<ExchangeQuote>(connection, call, (response) => exchangeQuoteOf(response, order, askedAt))
  })

/** POST /exchanges/quotation: only a source amount, in major units with every digit. */
export const exchangeQuotationBody = ({ amount, currency, destinationCurrency }: ExchangeOrder): object => ({
  from: currency,
  to: destinationCurrency,
  amount: new RawJson(toDecimal(amount, currency))
})

/** The response to it. `askedAt` is taken before the request, so that the quote expires early rather than late. */
export const exchangeQuoteOf = (
  response: ProviderResponse,
  order: ExchangeOrder,
  askedAt: number
): ExchangeQuote | QuoteRefused | NoQuote => {
  const refused = refusedQuote(response)
  if (refused !== undefined) return refused
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

const isAmount = (text: string, { amount, currency }: Pick<ExchangeOrder, "amount" | "currency">): boolean => {
  const read = fromDecimal(text, currency)
  return Result.isSuccess(read) && read.success === amount
}

/** The response to POST /exchanges, which is executed synchronously. */
export const exchangeOutcome = (response: ProviderResponse): MoneyCallAnswer<ExchangeOutcome> =>
  moneyCallAnswer(response, {
    refused: moneyCallRefusal("exchange", response),
    schema: ExchangeAnswer,
    readAsUnknown: identity.readAsUnknown,
    read: ({ data: { destination, source } }) => {
      const left = sumOf(source)
      const brought = broughtBy(destination.amount, destination.currency)
      if (left === undefined || brought === undefined) return unreadable("the amounts of an exchange cannot be read", "")
      return withoutAlarm({
        _tag: "Succeeded",
        // The response names no transaction; a query by our reference does.
        providerReference: null,
        amount: left.amount,
        currency: left.currency,
        fee: null,
        exchanged: brought,
        note: `brought ${destination.amount} ${destination.currency}`
      })
    }
  })
