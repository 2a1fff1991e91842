import { it } from "@effect/vitest"
import { Effect } from "effect"
import { describe, expect } from "vitest"
import { LARGEST_AMOUNT, minor } from "../../src/domain/Money.ts"
import { QUOTES_AT_MOST, smallestSourceFor } from "../../src/domain/SourceAmount.ts"

/** `top`/`bottom` of a destination minor unit for each source minor unit, told with `digits` decimals beyond the minor unit. */
const market = (top: bigint, bottom: bigint, exponent: number, digits = 4) => {
  const asked: Array<bigint> = []
  const quoteOf = (source: bigint) =>
    Effect.sync(() => {
      asked.push(source)
      const decimals = exponent + digits
      const text = ((source * top * 10n ** BigInt(digits)) / bottom).toString().padStart(decimals + 1, "0")
      return {
        source,
        destinationAmount: minor((source * top) / bottom),
        rawDestinationAmount: `${text.slice(0, -decimals)}.${text.slice(-decimals)}`
      }
    })
  return { asked, quoteOf }
}

const smallest = (wanted: bigint, top: bigint, bottom: bigint) => (wanted * bottom + top - 1n) / top

describe("the smallest source amount for a quote by destination", () => {
  const markets = [
    ["one for one", 1n, 1n, 2],
    ["shillings to dollars", 10n, 3_700n * 10n, 2],
    ["dollars to shillings", 37n, 1n, 0],
    ["a rate with a long tail", 129n, 3_701n, 2],
    ["a worthless currency", 1n, 1_000_003n, 0]
  ] as const

  for (const [name, top, bottom, exponent] of markets) {
    for (const wanted of [1n, 7n, 1_000n, 999_999n]) {
      it.effect(`${name}: is the smallest that reaches ${wanted}`, () =>
        Effect.gen(function* () {
          const { asked, quoteOf } = market(top, bottom, exponent)
          const found = yield* smallestSourceFor(minor(wanted), minor(wanted), exponent, quoteOf)
          expect(found?.source).toBe(smallest(wanted, top, bottom))
          expect(asked.length).toBeLessThanOrEqual(QUOTES_AT_MOST)
        })
      )
    }
  }

  it.effect("is found with at most four questions where the rate is the same for every amount", () =>
    Effect.gen(function* () {
      const { asked, quoteOf } = market(37n, 1n, 0)
      yield* smallestSourceFor(minor(1_000_000n), minor(1_000_000n), 0, quoteOf)
      expect(asked.length).toBeLessThanOrEqual(4)
    })
  )

  for (const wanted of [LARGEST_AMOUNT - 36n, 9_007_199_254_740_000n, 1_000_000n]) {
    it.effect(`is found for ${wanted} although the first guesses buy more than the largest amount`, () =>
      Effect.gen(function* () {
        const countable = (source: bigint) =>
          source * 37n > LARGEST_AMOUNT ? Effect.succeed("too_much" as const) : quoteOf(source)
        const { asked, quoteOf } = market(37n, 1n, 0)
        const found = yield* smallestSourceFor(minor(wanted), minor(LARGEST_AMOUNT), 0, countable)
        expect(found?.source).toBe(smallest(wanted, 37n, 1n))
        expect(asked.length).toBeLessThanOrEqual(QUOTES_AT_MOST)
      })
    )
  }

  /** What a source buys, in whole units and without a fraction in its text. */
  const selling = (boughtBy: (source: bigint) => bigint) => {
    const asked: Array<bigint> = []
    const quoteOf = (source: bigint) =>
      Effect.sync(() => {
        asked.push(source)
        return { source, destinationAmount: minor(boughtBy(source)), rawDestinationAmount: String(boughtBy(source)) }
      })
    return { asked, quoteOf }
  }
  const last = LARGEST_AMOUNT

  // Each question is a call to the provider: none is put twice, and none that the answers before it have decided.
  it.effect.each([
    ["one price for every amount: its rate, and the one below", 370n, 370n, (source: bigint) => source * 37n, [370n, 10n, 9n]],
    [
      "a fee beside the rate: three estimates, then down in growing steps, by no more than half of what is left",
      10_000n,
      10_000n,
      (source: bigint) => (source > 1_000n ? source - 1_000n : 0n),
      [10_000n, 11_112n, 10_989n, 11_002n, 11_001n, 10_999n, 11_000n]
    ],
    [
      "a rate that is better for more: an estimate that is known to buy too little is not asked for",
      1_000n,
      900n,
      (source: bigint) => (source * source) / 1_000n,
      [900n, 1_112n, 1_111n, 901n, 1_109n, 1_105n, 1_097n, 1_081n, 1_049n, 985n, 1_017n, 1_001n, 993n, 997n, 999n, 1_000n]
    ],
    ["all that can be counted", last, 1n, (source: bigint) => source, [1n, last, last - 1n]],
    [
      "only the largest amounts buy anything",
      10n,
      last,
      (source: bigint) => (source >= last - 1n ? 10n : 0n),
      [last, last - 1n, last - 3n, last - 2n]
    ]
  ] as const)("asks no more than it has to: %s", ([, wanted, first, boughtBy, questions]) =>
    Effect.gen(function* () {
      const { asked, quoteOf } = selling(boughtBy)
      const found = yield* smallestSourceFor(minor(wanted), minor(first), 0, quoteOf)
      expect(asked).toStrictEqual(questions)
      expect(found?.source).toBe(asked.filter((source) => boughtBy(source) >= wanted).reduce((a, b) => (a < b ? a : b)))
      expect(boughtBy((found?.source ?? 0n) - 1n)).toBeLessThan(wanted)
    })
  )

  it.effect("is none where every source buys more than the largest amount", () =>
    Effect.gen(function* () {
      expect(yield* smallestSourceFor(minor(1n), minor(1n), 2, () => Effect.succeed("too_much"))).toBeUndefined()
    })
  )

  it.effect("is none where no source buys anything", () =>
    Effect.gen(function* () {
      const { asked, quoteOf } = market(0n, 1n, 2)
      expect(yield* smallestSourceFor(minor(1n), minor(1n), 2, quoteOf)).toBeUndefined()
      // Three leaps, then steps that double.
      const [leap, steps] = [1024n ** 3n, Array.from({ length: 20 }, (_, index) => 2n ** BigInt(index + 1) - 1n)]
      expect(asked).toStrictEqual([1n, 1024n, 1024n ** 2n, leap, ...steps.map((step) => leap + step)])
      expect(asked.length).toBe(QUOTES_AT_MOST)
    })
  )
})
