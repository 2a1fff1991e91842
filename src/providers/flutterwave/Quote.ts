import { Effect, Option, Result } from "effect"
import type { Currency } from "../../domain/Currency.ts"
import { type MinorUnits, minor } from "../../domain/Money.ts"
import type { PayoutOperations, PayoutQuote, QuoteOrder, QuoteRefused } from "../../services/ports/Provider.ts"
import { decoded } from "../AnswerParsing.ts"
import type { Connection } from "../Connection.ts"
import { majorUnits } from "../ProviderStatus.ts"
import { type NoQuote, noQuote, quoteRefused, requestQuote, sameCurrencyQuote } from "../Quotes.ts"
import type { ProviderResponse } from "../Transport.ts"
import { plainDecimal } from "../WireNumber.ts"
import { feeTypes, pays } from "./Networks.ts"
import { accountOf } from "./Order.ts"
import { identity, refusalStatus } from "./Refusals.ts"
import { FeeAnswer } from "./Wire.ts"

/** Flutterwave locks nothing: how long a fee that was asked for is taken to hold. */
export const QUOTE_LIFE_MS = 300_000

export const quoting = (connection: Connection): PayoutOperations["quote"] =>
  Effect.fnUntraced(function* (order) {
    const refused = unquotable(order)
    if (refused !== undefined) return refused
    const call = { operation: "fee", method: "GET", path: feePath(order) } as const
    return yield* requestQuote<PayoutQuote>(connection, call, (response) => quoteOf(response, order))
  })

/** Refused before anything is asked: across currencies nothing is locked, and what is not in the tables is not paid. */
export const unquotable = ({
  corridor,
  destination,
  destinationCountry,
  destinationCurrency
}: QuoteOrder): QuoteRefused | undefined => {
  if (destinationCurrency !== corridor.currency) return quoteRefused("Flutterwave locks no exchange rate")
  if (!pays(destinationCountry, corridor.method)) return quoteRefused("Flutterwave does not pay there by this method")
  if (destination !== null && accountOf(destination) === undefined)
    // Another provider may have a word for the network; a wallet is this one's alone.
    return quoteRefused("Flutterwave cannot reach such a recipient", destination._tag === "wallet" ? "party" : "other")
  return undefined
}

/** GET /transfers/fee */
export const feePath = ({ amount, corridor }: QuoteOrder): string => {
  const { currency, method } = corridor
  const type = method === "card" ? {} : { type: feeTypes[method] }
  return `/transfers/fee?${new URLSearchParams({ amount: plainDecimal(amount, currency), currency, ...type })}`
}

/** Within one currency both amount types say the same: what arrives, with the fee on top. */
export const quoteOf = (response: ProviderResponse, { amount, corridor }: QuoteOrder): PayoutQuote | QuoteRefused | NoQuote => {
  const answer = decoded(FeeAnswer, response)
  if (Option.isNone(answer)) {
    if (refusalStatus(response) === 400) return quoteRefused("HTTP 400")
    return noQuote(identity.readAsUnknown(response).alarm)
  }
  const fees = answer.value.data.map((one) =>
    one.currency === corridor.currency ? feeOf(one, amount, corridor.currency) : undefined
  )
  const [fee, ...others] = fees
  if (fee === undefined || others.length > 0) return noQuote("a transfer's fee at Flutterwave cannot be read")
  return sameCurrencyQuote({ amount, destinationCurrency: corridor.currency }, fee, QUOTE_LIFE_MS)
}

const feeOf = (
  { fee, fee_type }: (typeof FeeAnswer.Type)["data"][number],
  amount: MinorUnits,
  currency: Currency
): MinorUnits | undefined => (fee_type === "value" ? Result.getOrUndefined(majorUnits.up(fee, currency)) : shareOf(fee, amount))

/** So many percent of the amount, to any number of decimals, rounded up to a minor unit. */
const shareOf = (percent: string, amount: MinorUnits): MinorUnits | undefined => {
  const [, whole = "", fraction = ""] = /^(\d{1,3})(?:\.(\d{1,12}))?$/.exec(percent) ?? []
  if (whole === "") return undefined
  const scale = 100n * 10n ** BigInt(fraction.length)
  return minor((amount * BigInt(whole + fraction) + scale - 1n) / scale)
}
