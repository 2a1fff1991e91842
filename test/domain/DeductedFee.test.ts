import { it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { describe, expect } from "vitest"
import { largestAmountWithin, QUOTES_AT_MOST } from "../../src/domain/DeductedFee.ts"
import { LARGEST_AMOUNT, type MinorUnits, minor, ZERO } from "../../src/domain/Money.ts"

const flat = (fee: bigint) => (_amount: MinorUnits) => Effect.succeed({ fee: minor(fee) })

describe("a payout that deducts the fee from the amount", () => {
  it.effect("nets 9,000 of 10,000 by momo with a fee of 1,000", () =>
    Effect.gen(function* () {
      expect(yield* largestAmountWithin(minor(10_000n), minor(500n), flat(1_000n))).toMatchObject({
        amount: 9_000n,
        reachesMinimum: true
      })
    })
  )

  it.effect("nets 4,600 of 10,000 by bank with a fee of 5,400, which is under the bank floor", () =>
    Effect.gen(function* () {
      expect(yield* largestAmountWithin(minor(10_000n), minor(10_000n), flat(5_400n))).toMatchObject({
        amount: 4_600n,
        reachesMinimum: false
      })
    })
  )

  it.effect("sends all of the largest amount when no fee is charged", () =>
    Effect.gen(function* () {
      expect(yield* largestAmountWithin(minor(LARGEST_AMOUNT), ZERO, flat(0n))).toMatchObject({
        amount: LARGEST_AMOUNT,
        reachesMinimum: true
      })
    })
  )

  it("sends the largest amount that fits, for every stepwise fee", () => {
    const steps = fc.array(fc.record({ from: fc.integer({ min: 0, max: 3_000 }), more: fc.integer({ min: 0, max: 400 }) }), {
      maxLength: 4
    })
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 3_000 }),
        fc.integer({ min: 0, max: 300 }),
        fc.integer({ min: 0, max: 1_000 }),
        steps,
        (budget, base, floor, rises) => {
          const feeOf = (amount: number) => rises.reduce((fee, { from, more }) => (amount >= from ? fee + more : fee), base)
          let asked = 0
          const result = Effect.runSync(
            largestAmountWithin(minor(BigInt(budget)), minor(BigInt(floor)), (amount) => {
              asked++
              return Effect.succeed({ fee: minor(BigInt(feeOf(Number(amount)))) })
            })
          )
          let best = -1
          for (let amount = Math.max(floor, 1); amount <= budget; amount++) if (amount + feeOf(amount) <= budget) best = amount
          expect(asked).toBeLessThanOrEqual(QUOTES_AT_MOST)
          expect(result.reachesMinimum).toBe(best >= 0)
          if (best >= 0) expect(result.amount).toBe(BigInt(best))
        }
      )
    )
  })

  const stepAt = (from: bigint, below: bigint, above: bigint) => (amount: bigint) => (amount < from ? below : above)

  // Each question is a call to the provider: none is put that the answers before it have decided.
  it.effect.each([
    ["a fee that is the same for every amount", 10_000n, 500n, () => 1_000n, [10_000n, 9_000n], 9_000n],
    ["no fee", 10_000n, 500n, () => 0n, [10_000n, 10_000n], 10_000n],
    [
      "a floor that fits although the whole less its fee is under it",
      100n,
      60n,
      stepAt(80n, 10n, 50n),
      [100n, 60n, 90n, 75n, 82n, 78n, 80n, 79n],
      79n
    ],
    ["a fee that rises within reach", 100n, 0n, stepAt(98n, 1n, 4n), [100n, 96n, 99n, 97n, 98n], 97n],
    ["a fee that rises at the last unit", 100n, 0n, stepAt(100n, 1n, 2n), [100n, 98n, 99n], 99n]
  ] as const)("asks no more than it has to: %s", ([, budget, floor, feeOf, questions, amount]) =>
    Effect.gen(function* () {
      const asked: Array<bigint> = []
      const found = yield* largestAmountWithin(minor(budget), minor(floor), (one) => {
        asked.push(one)
        return Effect.succeed({ fee: minor(feeOf(one)) })
      })
      expect([asked, found]).toStrictEqual([questions, { amount, quote: { fee: minor(feeOf(amount)) }, reachesMinimum: true }])
    })
  )

  it.effect("asks 24 times at most, and sends what is known to fit by then", () =>
    Effect.gen(function* () {
      const budget = 2n ** 40n
      const feeOf = stepAt(budget / 3n, 0n, budget - 1n)
      let asked = 0
      const { amount, reachesMinimum } = yield* largestAmountWithin(minor(budget), ZERO, (one) => {
        asked++
        return Effect.succeed({ fee: minor(feeOf(one)) })
      })
      expect([asked, reachesMinimum, amount + feeOf(amount) <= budget]).toStrictEqual([QUOTES_AT_MOST, true, true])
      expect(QUOTES_AT_MOST).toBe(24)
      expect(budget / 3n - amount).toBeLessThan(2n ** 20n)
    })
  )

  it.effect("sends nothing when the fee takes the whole amount", () =>
    Effect.gen(function* () {
      expect(yield* largestAmountWithin(minor(100n), ZERO, flat(100n))).toMatchObject({ reachesMinimum: false })
    })
  )
})
