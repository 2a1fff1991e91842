import { Effect } from "effect"
import { LARGEST_AMOUNT, type MinorUnits, minor } from "./Money.ts"

/** Each step is a free call to the provider. A rate that is the same for every amount needs four of them. */
export const QUOTES_AT_MOST = 24

/** The amount that a source amount buys; also with every digit that the provider gave, as decimal text in major units. */
interface Bought {
  readonly destinationAmount: MinorUnits
  readonly rawDestinationAmount: string
}

/** How many sources are chosen by the rate of the quote before them. If that does not find it, the rate depends on the amount. */
const ESTIMATES = 3
/** The factor for the next source when nothing at all was bought. */
const LEAP = 1024n

/**
 * The smallest source amount that buys at least `wanted`, rounded down to the destination's currency, and its quote (contract
 * FX-3); undefined where none was found within `QUOTES_AT_MOST`. A provider quotes only source amounts, and what it gives must
 * not fall as the source rises. "too_much" means that the source buys more than the largest amount.
 */
export const smallestSourceFor = Effect.fnUntraced(function* <Q extends Bought, E, R>(
  wanted: MinorUnits,
  first: MinorUnits,
  exponent: number,
  quoteOf: (source: MinorUnits) => Effect.Effect<Q | "too_much", E, R>
) {
  let tooLittle = 0n
  let enough: Q | undefined
  /** No source from here on is better than the best one found. */
  let bound = LARGEST_AMOUNT + 1n
  let candidate: bigint = first
  let step = 1n
  let estimates = 0
  for (let quotes = 1; quotes <= QUOTES_AT_MOST; quotes++) {
    const quote = yield* quoteOf(minor(candidate))
    if (quote === "too_much") bound = candidate
    else if (quote.destinationAmount < wanted) tooLittle = candidate
    else {
      enough = quote
      bound = candidate
    }
    if (tooLittle + 1n >= bound) break
    const half: bigint = (bound - tooLittle + 1n) / 2n
    const estimated = quote === "too_much" ? bound - half : estimate(candidate, wanted, exponent, quote)
    if (quote === "too_much" || (estimates++ < ESTIMATES && estimated > tooLittle && estimated < bound)) candidate = estimated
    else {
      // Goes down from the smallest sufficient source in growing steps, but never by more than half of the remaining range.
      candidate = bound > LARGEST_AMOUNT ? smaller(tooLittle + step, LARGEST_AMOUNT) : bound - smaller(step, half)
      step *= 2n
    }
  }
  return enough
})

/** By the quote's own rate, rounded up. */
const estimate = (source: bigint, wanted: bigint, exponent: number, { rawDestinationAmount }: Bought): bigint => {
  const [whole = "", fraction = ""] = rawDestinationAmount.split(".")
  const bought = BigInt(whole + fraction) * 10n ** BigInt(exponent)
  if (bought === 0n) return source * LEAP
  return (source * wanted * 10n ** BigInt(fraction.length) + bought - 1n) / bought
}

const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b)
