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

  it.effect("sends nothing when the fee takes the whole amount", () =>
    Effect.gen(function* () {
      expect(yield* largestAmountWithin(minor(100n), ZERO, flat(100n))).toMatchObject({ reachesMinimum: false })
    })
  )
})
