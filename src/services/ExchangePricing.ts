import { Effect } from "effect"
import { type Currency, exponents } from "../domain/Currency.ts"
import { AmountAboveMaximum, AmountBelowMinimum, ValidationFailed } from "../domain/errors/Terminal.ts"
import { type MinorUnits, minor, ZERO } from "../domain/Money.ts"
import { smallestReaching } from "../domain/SmallestSource.ts"
import type { ExchangeQuote, Exchanges } from "./ports/Provider.ts"

export interface FxQuery {
  readonly sourceCurrency: Currency
  readonly destinationCurrency: Currency
  /** Which side is fixed: what leaves, or at least what has to come in. */
  readonly fixed: "source" | "destination"
  readonly amount: MinorUnits
}

/** What a provider gives for it; free. By destination it is the smallest source that reaches it. */
export const priceOf = Effect.fnUntraced(function* (port: Exchanges, query: FxQuery) {
  const { amount, destinationCurrency, fixed, sourceCurrency: currency } = query
  /** The most that a source was seen to buy, and the largest source where more than can be counted was bought. */
  let mostBought = ZERO
  let largestSource: MinorUnits | undefined
  const quoteOf = Effect.fnUntraced(function* (source: MinorUnits) {
    const answer = yield* port.quote({ currency, amount: source, destinationCurrency })
    if (!("_tag" in answer)) {
      if (answer.destinationAmount > mostBought) mostBought = answer.destinationAmount
      return answer
    }
    if (answer.kind === "too_small") return yield* new AmountBelowMinimum({ minimum_minor: answer.bound, method: "wallet" })
    if (answer.kind !== "too_large") return yield* refusedQuote
    largestSource = answer.bound
    return "too_much" as const
  })
  const reaching = (wanted: MinorUnits, first: MinorUnits) =>
    smallestReaching(wanted, first, exponents[destinationCurrency], quoteOf)
  if (fixed === "destination") {
    const found: ExchangeQuote | undefined = yield* reaching(amount, amount)
    if (found !== undefined) return found
    return yield* largestSource === undefined ? refusedQuote : aboveMaximum(mostBought)
  }
  const quoted = yield* quoteOf(amount)
  if (quoted === "too_much") return yield* aboveMaximum(largestSource ?? ZERO)
  if (quoted.destinationAmount > ZERO) return quoted
  // It buys less than the smallest unit of the other currency; what buys one is the least that can be exchanged.
  const least = yield* reaching(minor(1n), amount)
  if (least === undefined) return yield* refusedQuote
  return yield* new AmountBelowMinimum({ minimum_minor: least.amount, method: "wallet" })
})

const aboveMaximum = (most: MinorUnits) => new AmountAboveMaximum({ maximum_minor: most, scope: "corridor" })
const refusedQuote = new ValidationFailed({ issues: [{ path: "", message: "the provider refuses to quote this exchange" }] })
