import { Effect } from "effect"
import { type MinorUnits, minor, minusOrZero, ZERO } from "./Money.ts"

// The part of a budget that can be sent when the fee is deducted from it. `PayoutPricing` asks the provider for the fee.

/** Each step is a free call to the provider: a bisection over one fee step of 2^20 minor units ends well within it. */
export const QUOTES_AT_MOST = 24

/** The amount that a budget can send, and its fee. `reachesMinimum` is false when even the minimum and its fee do not fit. */
export interface ReducedAmount<Q> {
  readonly amount: MinorUnits
  readonly quote: Q
  readonly reachesMinimum: boolean
}

/**
 * The largest amount x >= floor with x + fee(x) <= budget, and its quote (contract PAY-13: what remains, less than
 * one fee step, stays in the float). `quoteOf` asks the provider, and its fee must not fall as the amount rises.
 * Amounts under the floor are never asked for, because a provider refuses to quote them.
 */
export const largestAmountWithin = Effect.fnUntraced(function* <Q extends { readonly fee: MinorUnits }, E, R>(
  budget: MinorUnits,
  floor: MinorUnits,
  quoteOf: (amount: MinorUnits) => Effect.Effect<Q, E, R>
) {
  const whole = yield* quoteOf(budget)
  const net = minusOrZero(budget, whole.fee)
  // fee(budget) is the highest fee within the budget, so `net` always fits; the floor may fit where its own fee is lower.
  const least = floor > ZERO ? floor : minor(1n)
  let fits = net > least ? net : least
  let quote = yield* quoteOf(fits)
  if (fits + quote.fee > budget) return { amount: net, quote: whole, reachesMinimum: false } satisfies ReducedAmount<Q>
  let tooMuch: bigint = budget + 1n
  for (let quotes = 2; quotes < QUOTES_AT_MOST; quotes++) {
    const reach = minusOrZero(budget, quote.fee)
    if (reach <= fits || tooMuch - fits <= 1n) break
    const candidate = reach < tooMuch ? reach : minor((fits + tooMuch) / 2n)
    const next = yield* quoteOf(candidate)
    if (candidate + next.fee <= budget) {
      fits = candidate
      quote = next
    } else tooMuch = candidate
  }
  return { amount: fits, quote, reachesMinimum: true } satisfies ReducedAmount<Q>
})
