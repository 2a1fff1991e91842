import { Effect } from "effect"
import type { Corridor } from "../../domain/Corridor.ts"
import type { Currency } from "../../domain/Currency.ts"
import { largestAmountWithin } from "../../domain/DeductedFee.ts"
import type { ProviderError } from "../../domain/errors/Retriable.ts"
import { LARGEST_AMOUNT, type MinorUnits, ZERO } from "../../domain/Money.ts"
import type { Destination } from "../../domain/Party.ts"
import type { Sender } from "../../domain/Sender.ts"
import type { AmountType } from "../../domain/Transaction.ts"
import type { PayoutOperations, PayoutQuote, QuoteRefused } from "../ports/Provider.ts"
import { isOfNetworkLimits } from "../routing/NetworkLimits.ts"
import type { RoutedProvider } from "../routing/Routes.ts"

// Turns one provider's quote into the price of a payout. `PayoutPricing` decides which providers are asked; `DeductedFee` in domain
// finds the amount where the fee is deducted.

/** What decides the price of a payout. */
export interface PayoutTerms {
  readonly amount: MinorUnits
  readonly currency: Currency
  readonly destinationCurrency: Currency
  readonly country: string
  readonly method: "momo" | "bank" | "wallet"
  /** Null when a tenant only asks for a quote. */
  readonly destination: Destination | null
  readonly amountType: AmountType | null
  readonly deductFeeFromAmount: boolean
}

/** Where a payout goes: its corridor, who is tried, in order and never nobody, and the destination with its network's own code. */
export interface PayoutRoute {
  readonly corridor: Corridor
  readonly providers: ReadonlyArray<PayoutProvider>
  readonly destination: Destination | null
  readonly network: string | null
  /** Who pays, for those who take it. */
  readonly sender: Sender | null
}

export type PayoutProvider = RoutedProvider<PayoutOperations>

/** `reachesMinimum` is false when a deducted payout would fall below the corridor's minimum; the figures then say what it would be. */
export interface PricedPayout {
  readonly quote: PayoutQuote
  readonly reachesMinimum: boolean
}

/** A price, the provider that quoted it and will send, and the `others` that come after it in the route's order. */
export interface Offer extends PricedPayout {
  readonly payoutProvider: PayoutProvider
  readonly others: ReadonlyArray<PayoutProvider>
  /** What the bank said of the recipient, for the history. */
  readonly note: string
}

const uncountable = (fee: MinorUnits): QuoteRefused => ({
  _tag: "QuoteRefused",
  kind: "too_much",
  note: "amount and fee are more than can be counted",
  fee
})

/** Whether the next provider is asked for a quote: after no readable answer, where this one does not do it at all, or where its account's limits
 * for the network do not admit it. A refusal of the amount or of the recipient by a provider is final. */
export const goesToNextProvider = (error: { readonly _tag: string; readonly kind?: string }): boolean =>
  error._tag === "provider_error" || (error._tag === "QuoteRefused" && error.kind === "other") || isOfNetworkLimits(error)

/** Asks one provider for the price: one call, but up to `QUOTES_AT_MOST` (24, in `DeductedFee`) where the fee is deducted from the amount. */
export const askPrice = (
  route: PayoutRoute,
  payoutProvider: PayoutProvider,
  terms: PayoutTerms
): Effect.Effect<PricedPayout, ProviderError | QuoteRefused> => {
  const quoteOf = (amount: MinorUnits) => quoteFor(route, payoutProvider, terms, amount)
  if (!terms.deductFeeFromAmount)
    return Effect.flatMap(quoteOf(terms.amount), (quote) =>
      quote.principal + quote.fee > LARGEST_AMOUNT
        ? Effect.fail(uncountable(quote.fee))
        : Effect.succeed({ quote, reachesMinimum: reachesMinimum(route, quote) })
    )
  return Effect.map(
    largestAmountWithin(terms.amount, route.corridor.minimum ?? ZERO, quoteOf),
    ({ amount, quote, reachesMinimum: reaches }) => ({
      // Below the floor the figures are what the fee of the whole budget leaves.
      quote: reaches ? quote : { ...quote, principal: amount, destinationAmount: amount },
      reachesMinimum: reaches
    })
  )
}

const reachesMinimum = ({ corridor }: PayoutRoute, quote: PayoutQuote): boolean =>
  corridor.minimum === null || quote.principal >= corridor.minimum

export const quoteFor = (route: PayoutRoute, { operations: payouts }: PayoutProvider, terms: PayoutTerms, amount: MinorUnits) =>
  payouts
    .quote({
      corridor: route.corridor,
      amount,
      amountType: terms.amountType ?? "SOURCE",
      destinationCurrency: terms.destinationCurrency,
      destinationCountry: route.destination?.country ?? terms.country,
      destination: route.destination
    })
    .pipe(Effect.flatMap((answer) => ("_tag" in answer ? Effect.fail(answer) : Effect.succeed(answer))))
