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

/** Flutterwave locks no quote: for this long we rely on a fee that it reported. */
export const QUOTE_LIFE_MS = 300_000

export const quoting = (connection: Connection): PayoutOperations["quote"] =>
  Effect.fnUntraced(function* (order) {
    const refused = unquotable(order)
    if (refused !== undefined) return refused
    const call = { operation: "fee", method: "GET", path: feePath(order) } as const
    return yield* requestQuote<PayoutQuote>(connection, call, (response) => quoteOf(response, order))
  })

/** Refused without a call: exchange rates are not locked, and destinations outside the tables are not paid. */
export const unquotable = ({
  corridor,
  destination,
  destinationCountry,
  destinationCurrency
}: QuoteOrder): QuoteRefused | undefined => {
  if (destinationCurrency !== corridor.currency) return quoteRefused("Flutterwave locks no exchange rate")
  if (!pays(destinationCountry, corridor.method)) return quoteRefused("Flutterwave does not pay there by this method")
  if (destination !== null && accountOf(destination) === undefined)
    // Another provider may reach the network; a wallet exists only at this one.
    return quoteRefused("Flutterwave cannot reach such a recipient", destination._tag === "wallet" ? "party" : "other")
  return undefined
}

/** GET /transfers/fee */
export const feePath = ({ amount, corridor }: QuoteOrder): string => {
  const { currency, method } = corridor
  const type = method === "card" ? {} : { type: feeTypes[method] }
  return `/transfers/fee?${new URLSearchParams({ amount: plainDecimal(amount, currency), currency, ...type })}`
}

/** Within one currency both amount types mean the same: the amount that arrives, with the fee added. */
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

/** A percentage of the amount with any number of decimals, rounded up to a minor unit. */
const shareOf = (percent: string, amount: MinorUnits): MinorUnits | undefined => {
  const [, whole = "", fraction = ""] = /^(\d{1,3})(?:\.(\d{1,12}))?$/.exec(percent) ?? []
  if (whole === "") return undefined
  const scale = 100n * 10n ** BigInt(fraction.length)
  return minor((amount * BigInt(whole + fraction) + scale - 1n) / scale)
}
