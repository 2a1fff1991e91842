import type { Corridor, Method } from "../domain/Corridor.ts"
import type { Currency } from "../domain/Currency.ts"
import { AmountAboveMaximum, AmountBelowMinimum, type Issue, ValidationFailed } from "../domain/errors/Terminal.ts"
import { LARGEST_AMOUNT, largestFor, type MinorUnits } from "../domain/Money.ts"
import type { AmountType } from "../domain/Transaction.ts"
import type { UnpricedReason } from "../domain/UnpricedReason.ts"
import type { PayoutQuote, QuoteRefused } from "./ports/Provider.ts"

/** What of a payout's terms says how a refused price is told. */
interface Asked {
  readonly amount: MinorUnits
  readonly amountType: AmountType | null
  readonly currency: Currency
  readonly destinationCurrency: Currency
  readonly method: Method
}

/** The currency that a payout's own amount counts: the recipient's for a fixed destination, else the float's. */
export const amountCurrencyOf = (terms: Pick<Asked, "amountType" | "currency" | "destinationCurrency">) =>
  terms.amountType === "DESTINATION" ? terms.destinationCurrency : terms.currency

/** A payout without a price, which a quote tells as it is. */
export interface Unpriced {
  readonly unpricedReason: UnpricedReason
}

export type QuoteRefusal = ValidationFailed | AmountAboveMaximum | AmountBelowMinimum

type Kind = QuoteRefused["kind"]

/** What a quote without figures says of it. */
export const unpricedReasons = {
  too_small: "below_provider_minimum",
  too_large: "above_provider_maximum",
  inexact: "provider_refused",
  party: "provider_refused",
  destination_required: "destination_required",
  other: "provider_refused"
} as const satisfies Record<Kind, UnpricedReason>

const quoteIssues = {
  inexact: { path: "amount_minor", message: "has a part that the network does not take" },
  party: { path: "destination", message: "is not known to the provider" },
  destination_required: { path: "destination", message: "is required for a price" },
  other: { path: "", message: "the provider refuses to quote this payout" }
} as const satisfies Record<Exclude<Kind, "too_small" | "too_large">, Issue>

/** How a payout is refused for which there is no price. */
export const refusalOf = ({ method }: Pick<Asked, "method">, refused: QuoteRefused): QuoteRefusal => {
  if (refused.kind === "too_small") return new AmountBelowMinimum({ minimum_minor: refused.bound, method })
  if (refused.kind === "too_large") return new AmountAboveMaximum({ maximum_minor: refused.bound, scope: "corridor" })
  return new ValidationFailed({ issues: [quoteIssues[refused.kind]] })
}

/** A provider that does not say why it refuses does so for the size, where that is outside the corridor's window. */
export const sized = (corridor: Corridor, terms: Asked, refused: QuoteRefused): QuoteRefused => {
  const { amount } = terms
  if (refused.kind !== "other" || amountCurrencyOf(terms) !== corridor.currency) return refused
  const { maximum, minimum } = corridor
  if (minimum !== null && amount < minimum) return { ...refused, kind: "too_small", bound: minimum }
  return maximum !== null && amount > maximum ? { ...refused, kind: "too_large", bound: maximum } : refused
}

/** A price that the gateway cannot count: no later one would be another. */
export const uncountable = (amount: MinorUnits, { fee, principal }: PayoutQuote): QuoteRefused => ({
  _tag: "QuoteRefused",
  kind: "too_large",
  bound: largestFor(amount, principal, LARGEST_AMOUNT - fee),
  note: "amount and fee are more than can be counted"
})
