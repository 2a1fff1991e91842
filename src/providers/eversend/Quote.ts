import { Option, Result } from "effect"
import { isBeyond } from "../../domain/Money.ts"
import type { PayoutQuote, QuoteOrder, QuoteRefused } from "../../services/ports/Provider.ts"
import { decoded } from "../AnswerParsing.ts"
import { majorUnits } from "../ProviderStatus.ts"
import { type NoQuote, noQuote, quoteRefused } from "../Quotes.ts"
import type { ProviderResponse } from "../Transport.ts"
import { isRefusal } from "./Refusals.ts"
import { PayoutQuotationAnswer } from "./Wire.ts"

/** For how long a quotation's token is valid after it was issued. */
export const QUOTE_LIFE_MS = 1_800_000
/** Covers transit and clock differences. */
const QUOTE_MARGIN_MS = 60_000

type Quotation = typeof PayoutQuotationAnswer.Type.data.quotation

// Eversend has no codes, and its texts change, so an amount outside the limits cannot be distinguished from other refusals.
const refusing = [400, 402, 403, 404]

/** The quotation was refused; a retry would not help. */
export const refusedQuote = (response: ProviderResponse): QuoteRefused | undefined =>
  isRefusal(response) && refusing.includes(response.status) ? quoteRefused(`HTTP ${response.status}`) : undefined

/** The response to POST /payouts/quotation. */
export const quoteOf = (response: ProviderResponse, order: QuoteOrder): PayoutQuote | QuoteRefused | NoQuote => {
  const refused = refusedQuote(response)
  if (refused !== undefined) return refused
  const answer = Option.getOrUndefined(decoded(PayoutQuotationAnswer, response))
  if (answer === undefined) return noQuoteBy(response)
  const { quotation, token } = answer.data
  if (quotation.merchant?.merchantExists === false) return quoteRefused("the wallet's owner does not exist", "party")
  return fits(quotation, order) ?? read(quotation, token, order)
}

/** A response that is not a quotation. */
export const noQuoteBy = (response: ProviderResponse): NoQuote => {
  const isStrange = response._tag === "Answered" && (response.status < 300 || response.status === 401)
  return noQuote(isStrange ? `Eversend answers a quotation with HTTP ${response.status} and nothing that can be used` : null)
}

/** A quotation that differs from the request must not be paid. */
const fits = (quotation: Quotation, order: QuoteOrder): QuoteRefused | NoQuote | undefined => {
  const { corridor, destinationCurrency } = order
  // A wallet is quoted by its owner alone, in the owner's currency.
  if (corridor.method === "wallet" && quotation.destinationCurrency !== destinationCurrency)
    return quoteRefused("the wallet's currency is another one", "party")
  if (quotation.sourceCurrency !== corridor.currency || quotation.destinationCurrency !== destinationCurrency) {
    return broken("the currencies are not those that were asked for")
  }
  if (!isSum(quotation.sourceAmount, quotation.totalFees, quotation.totalAmount)) {
    return broken("totalAmount is not sourceAmount and totalFees together")
  }
  return undefined
}

const read = (quotation: Quotation, token: string, order: QuoteOrder): PayoutQuote | QuoteRefused | NoQuote => {
  const { amountType, corridor, destinationCurrency } = order
  const principal = majorUnits.exact(quotation.sourceAmount, corridor.currency)
  const fee = majorUnits.up(quotation.totalFees, corridor.currency)
  const isExchanged = destinationCurrency !== corridor.currency
  const destinationAmount = (isExchanged ? majorUnits.down : majorUnits.exact)(quotation.destinationAmount, destinationCurrency)
  if (Result.isFailure(principal) || Result.isFailure(fee) || Result.isFailure(destinationAmount)) {
    return isBeyond(quotation.totalAmount, corridor.currency) || isBeyond(quotation.destinationAmount, destinationCurrency)
      ? { ...tooLarge, ...(Result.isSuccess(fee) ? { fee: fee.success } : {}) }
      : broken("an amount is finer than its currency")
  }
  const fixed = amountType === "SOURCE" ? principal.success : destinationAmount.success
  if (fixed !== order.amount) return broken("the amount is not the one that was asked for")
  return {
    principal: principal.success,
    fee: fee.success,
    destinationAmount: destinationAmount.success,
    destinationCurrency,
    rate: isExchanged ? quotation.exchangeRate : null,
    expiresInMs: QUOTE_LIFE_MS - QUOTE_MARGIN_MS,
    token
  }
}

/** Compares exactly, with any number of decimals. */
const isSum = (a: string, b: string, total: string): boolean => {
  const decimals = Math.max(...[a, b, total].map((text) => text.split(".")[1]?.length ?? 0))
  const scaled = (text: string): bigint => {
    const [whole = "", fraction = ""] = text.split(".")
    return BigInt(whole + fraction.padEnd(decimals, "0"))
  }
  return scaled(a) + scaled(b) === scaled(total)
}

/** Eversend would accept the amount, but the gateway cannot represent it. A retry would not help. */
export const tooLarge: QuoteRefused = quoteRefused("more than the largest amount", "too_much")

export const broken = (why: string): NoQuote => noQuote(`a quotation of Eversend's makes no sense: ${why}`)
