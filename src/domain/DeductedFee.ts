import { Effect } from "effect"
import { larger, type MinorUnits, minor, minusOrZero, smaller, ZERO } from "./Money.ts"

// The part of a budget that can be sent when the fee is deducted from it. `PayoutPricing` asks the provider for the fee.

/** Each step is a free call to the provider. A bisection over one fee step of 2^20 minor units needs fewer. */
export const QUOTES_AT_MOST = 24

/** The amount that a budget can send, and its fee. `reachesMinimum` is false when not even the minimum and its fee fit. */
interface ReducedAmount<Q> {
  readonly amount: MinorUnits
  readonly quote: Q
  readonly reachesMinimum: boolean
}

/** The fee must not fall as the amount rises, except at the amounts in `fallsAt`. */
interface Quoted {
  readonly fee: MinorUnits
  readonly fallsAt?: ReadonlyArray<MinorUnits>
}

/**
 * The largest amount x >= floor with x + fee(x) <= budget, and its quote (contract PAY-13: the remainder, less than one fee
 * step, stays in the float). `quoteOf` asks the provider. It is never called for an amount under the floor, because a provider
 * refuses to quote one. Where the fee falls at some amounts, each stretch between them is searched, the highest first. Only
 * fees that are computed from a contract fall, and those cost no call.
 */
export const largestAmountWithin = Effect.fnUntraced(function* <Q extends Quoted, E, R>(
  budget: MinorUnits,
  floor: MinorUnits,
  quoteOf: (amount: MinorUnits) => Effect.Effect<Q, E, R>
) {
  const whole = yield* quoteOf(budget)
  const least = floor > ZERO ? floor : minor(1n)
  const falls = (whole.fallsAt ?? []).filter((at) => at > least && at <= budget)
  const highest = yield* largestBetween(falls.at(-1) ?? least, { amount: budget, quote: whole }, budget, quoteOf)
  let found = highest
  for (let index = falls.length - 1; index >= 0 && !found.reachesMinimum; index--) {
    const top = minor((falls[index] ?? budget) - 1n)
    const below = { amount: top, quote: yield* quoteOf(top) }
    found = yield* largestBetween(falls[index - 1] ?? least, below, budget, quoteOf)
  }
  return found.reachesMinimum ? found : highest
})

/** The same for the amounts from `least` to the top one, among which the fee does not fall. */
const largestBetween = Effect.fnUntraced(function* <Q extends Quoted, E, R>(
  least: MinorUnits,
  top: { readonly amount: MinorUnits; readonly quote: Q },
  budget: MinorUnits,
  quoteOf: (amount: MinorUnits) => Effect.Effect<Q, E, R>
) {
  const net = smaller(minusOrZero(budget, top.quote.fee), top.amount)
  // The stretch's top amount has its highest fee, so `net` always fits. The least amount may fit above it, by its lower fee.
  let fits = larger(net, least)
  let quote = yield* quoteOf(fits)
  if (fits + quote.fee > budget) return { amount: net, quote: top.quote, reachesMinimum: false } satisfies ReducedAmount<Q>
  let tooMuch: bigint = top.amount + 1n
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
