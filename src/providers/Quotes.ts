import { Clock, Effect } from "effect"
import type { Currency } from "../domain/Currency.ts"
import type { ProviderError } from "../domain/errors/Retriable.ts"
import type { Instant } from "../domain/Instant.ts"
import { CallKind } from "../runtime/CallTurn.ts"
import type { PayoutOperations, PayoutQuote, QuoteOrder, QuoteRefused } from "../services/ports/Provider.ts"
import type { Call } from "./Client.ts"
import type { Connection } from "./Connection.ts"
import { type ContractFees, fallsIn, feeBy, feeEntryFor, nextFeeChange } from "./ContractFees.ts"
import type { ProviderResponse } from "./Transport.ts"

/** Our own choice: how long a tenant may consider a quote. A quote ends earlier when the contract's fee changes. */
export const QUOTE_LIFE_MS = 1_800_000

type Priced = Pick<QuoteOrder, "amount" | "destinationCurrency">

/** A quote that needs no call: it follows from the order and the time. */
export const quotingBy =
  (quoteAt: (order: QuoteOrder, now: Instant) => PayoutQuote | QuoteRefused): PayoutOperations["quote"] =>
  (order) =>
    Effect.map(Clock.currentTimeMillis, (now) => quoteAt(order, now))

/**
 * A quote without a call: within one currency only the fee is unknown, and the contract has it. The fee depends on the country
 * in which the money arrives, because countries share currencies.
 */
export const contractQuote = (order: QuoteOrder, fees: ContractFees, now: Instant): PayoutQuote | QuoteRefused => {
  const { amount, corridor, destination, destinationCountry: country } = order
  const { currency, method } = corridor
  const network = destination?._tag === "momo" ? destination.network : null
  const payment = { direction: "payout", country, currency, method, network, at: now } as const
  const entry = feeEntryFor(fees, payment)
  if (entry === undefined)
    return quoteRefused("the contract names no fee for it", destination === null && hasNetworks(fees) ? "no_recipient" : "other")
  const lifeMs = Math.min(QUOTE_LIFE_MS, (nextFeeChange(fees, payment) ?? Number.POSITIVE_INFINITY) - now)
  const fallsAt = fallsIn(entry)
  return {
    ...sameCurrencyQuote(order, feeBy(entry, amount), lifeMs),
    ...(fallsAt.length === 0 ? {} : { fallsAt }),
    ...(entry.returns === true ? { feeReturns: true } : {})
  }
}

/** For a provider with one network and an account in each country. */
interface CountryMarket {
  readonly accounts: ReadonlyArray<{ readonly country: string; readonly currency: Currency }>
  readonly network: string
}

/** The contract's quote when the money stays in one country in which there is an account. */
export const countryQuote = (
  { accounts, network }: CountryMarket,
  order: QuoteOrder,
  fees: ContractFees,
  now: Instant
): PayoutQuote | QuoteRefused => {
  const { corridor, destination, destinationCountry, destinationCurrency } = order
  const { country, currency, method } = corridor
  if (method !== "momo") return quoteRefused("another method")
  if (!accounts.some((one) => one.country === country && one.currency === currency)) return quoteRefused("no account there")
  if (destinationCountry !== country || destinationCurrency !== currency) return quoteRefused("across a border")
  if (destination?._tag === "momo" && destination.network !== network) return quoteRefused("another network")
  return contractQuote(order, fees, now)
}

/** When a fee depends on the recipient's network, it may be known only for a given recipient. */
const hasNetworks = (fees: ContractFees): boolean => fees.some(({ network }) => network !== null)

/** Within one currency, the amount sent is the amount that arrives; the fee is added. */
export const sameCurrencyQuote = (
  { amount, destinationCurrency }: Priced,
  fee: PayoutQuote["fee"],
  expiresInMs: number
): PayoutQuote => ({ principal: amount, fee, destinationAmount: amount, destinationCurrency, rate: null, expiresInMs, token: "" })

export const quoteRefused = (note: string, kind: QuoteRefused["kind"] = "other"): QuoteRefused => ({
  _tag: "QuoteRefused",
  kind,
  note
})

/** Neither a price nor a refusal. `alarm` is set when a retry will not help. */
export interface NoQuote {
  readonly _tag: "NoQuote"
  readonly alarm: string | null
}

export const noQuote = (alarm: string | null): NoQuote => ({ _tag: "NoQuote", alarm })

/** Requests a quote. A response that is neither a price nor a refusal is a ProviderError. */
export const requestQuote = Effect.fnUntraced(function* <Q extends object>(
  { call, giveUp }: Connection,
  request: Call,
  quoteOf: (response: ProviderResponse) => Q | QuoteRefused | NoQuote
): Effect.fn.Return<Q | QuoteRefused, ProviderError> {
  const quote = quoteOf(yield* Effect.provideService(call(request), CallKind, "quote"))
  return isNoQuote(quote) ? yield* giveUp(quote.alarm) : quote
})

const isNoQuote = (quote: object): quote is NoQuote => "_tag" in quote && quote._tag === "NoQuote"
