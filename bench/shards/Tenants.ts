import { createHash } from "node:crypto"

/** How much of all payouts is each tenant's own, by its number; they sum to one. */
export type Shares = ReadonlyArray<number>

/** 32 bits, as evenly spread as the hash that a cluster places its rows by. */
export const hashOf = (text: string): number => createHash("sha256").update(text).digest().readUInt32BE(0)

/**
 * Shares by Zipf's law: that of number k falls with k to the power of `exponent`. 0 is all alike; 1 is what cities, words and customers
 * tend to be like.
 */
export const zipfShares = (tenants: number, exponent: number): Shares =>
  wholeOf(Array.from({ length: tenants }, (_, at) => (at + 1) ** -exponent))

/** One of them pays `factor` times as much as before. */
export const grown = (shares: Shares, which: number, factor: number): Shares =>
  wholeOf(shares.map((share, at) => (at === which ? share * factor : share)))

/** As parts of one. */
const wholeOf = (weights: ReadonlyArray<number>): Shares => {
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  return weights.map((weight) => weight / total)
}
