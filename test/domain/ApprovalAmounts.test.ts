import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { type ApprovalAmounts, needsTwo } from "../../src/domain/ApprovalAmounts.ts"
import { Currency, exponents } from "../../src/domain/Currency.ts"
import { LARGEST_AMOUNT, minor } from "../../src/domain/Money.ts"
import type { Resolution } from "../../src/domain/Resolution.ts"
import { type Any, cases, exchange, say } from "../support/ReviewCases.ts"
import { collection, NOON, payout } from "../support/SampleTransactions.ts"

const amounts = (given: Partial<Record<Currency, bigint>>, otherwise: bigint): ApprovalAmounts => {
  const all = Object.keys(exponents) as ReadonlyArray<Currency>
  return Object.fromEntries(all.map((one) => [one, minor(given[one] ?? otherwise)])) as ApprovalAmounts
}

/** The largest amount from which on the ruling still takes two people, by this currency alone; 0 where no amount above nothing does. */
const counted = (currency: Currency, record: Any, resolution: Resolution | null): bigint => {
  let [least, most] = [0n, LARGEST_AMOUNT]
  while (least < most) {
    const middle = (least + most + 1n) / 2n
    if (needsTwo(amounts({ [currency]: middle }, LARGEST_AMOUNT), record, resolution)) least = middle
    else most = middle - 1n
  }
  return least
}

const seen = (amount: bigint, currency: Currency = "UGX") => ({ observedAmount: minor(amount), observedCurrency: currency })
const back = (amount: bigint) => ({ amount: minor(amount), at: NOON, reason: "" })
const credited = { status: "successful", completedAt: NOON, ...seen(90_000n), fees: minor(750n) } as const
const delivered = { status: "successful", completedAt: NOON, fees: minor(700n) } as const

describe("what counts for the amount from which on a ruling takes two people", () => {
  it.each<readonly [string, Any, Resolution | null, Partial<Record<Currency, bigint>>]>([
    ["all that an open payout has reserved", payout(), null, { UGX: 11_000n, KES: 0n }],
    ["the same, where less was sent", payout(), say("successful", 1n, 0n), { UGX: 11_000n }],
    ["what a failed payout took after all", cases["failed payout"], null, { UGX: 11_000n }],
    ["what comes back of a payout, its fee too", payout(delivered), null, { UGX: 10_700n }],
    [
      "what the gateway bears of a fee beyond the reserved one",
      payout({ ...delivered, reported: { amount: minor(10_000n), fee: minor(90_000n) } }),
      say("successful", null, 90_000n),
      { UGX: 89_000n }
    ],
    [
      "the amount that was asked for, where nothing would be posted",
      payout({ ...delivered, returned: back(10_700n) }),
      null,
      { UGX: 10_000n }
    ],
    [
      "the amount that was asked for in another currency",
      payout({ amount: minor(500_000n), amountCurrency: "KES" }),
      null,
      { KES: 500_000n, UGX: 11_000n }
    ],
    ["what a charge asked for, whatever its fee, which nobody knows", collection(), null, { UGX: 50_000n }],
    ["what a charge asked for, where a person says that less came in", collection(), say("successful", 1n, 0n), { UGX: 50_000n }],
    ["what a person says came in, where that is more", collection(), say("successful", 80_000n, 0n), { UGX: 80_000n }],
    ["what the provider saw come in", collection(seen(90_000n)), null, { UGX: 90_000n }],
    [
      "what came in before its fee",
      collection({ ...seen(90_000n), reported: { amount: minor(90_000n), fee: minor(750n) } }),
      null,
      { UGX: 90_000n }
    ],
    ["what the provider saw, whatever a person says", collection(seen(90_000n)), say("successful", 1n, 0n), { UGX: 90_000n }],
    ["what the provider saw, where the person says that it failed", collection(seen(90_000n)), say("failed"), { UGX: 90_000n }],
    ["nothing that the provider saw in another currency", collection(seen(90_000n, "USD")), null, { UGX: 50_000n, USD: 0n }],
    ["what a reversal takes back", collection(credited), null, { UGX: 90_000n }],
    ["what the end of a reversal gives again", collection({ ...credited, reversed: back(89_250n) }), null, { UGX: 90_000n }],
    ["both sides of an exchange", exchange({}), null, { UGX: 10_000n, KES: 34_864n, USD: 0n }],
    ["both sides of an exchange that is taken back", cases["successful exchange"], null, { UGX: 10_000n, KES: 34_864n }],
    ["what a person says that an exchange brought", exchange({}), say("successful", 60_000n), { UGX: 10_000n, KES: 60_000n }],
    ["nothing that cannot be ruled", collection(), say("successful", 200_000n, 0n), { UGX: 50_000n }],
    [
      "nothing that an outcome cannot book by itself, as with a fee beyond what came in",
      collection({ ...seen(90_000n), reported: { amount: minor(90_000n), fee: minor(90_001n) } }),
      null,
      { UGX: 50_000n }
    ]
  ])("is %s", (_, record, resolution, expected) => {
    const found = Object.keys(expected).map((currency) => [currency, counted(currency as Currency, record, resolution)])
    expect(Object.fromEntries(found)).toStrictEqual(expected)
  })
})

const records = fc.constantFrom<Any>(
  ...Object.values(cases),
  collection(seen(90_000n)),
  collection(credited),
  payout({ ...delivered, amountCurrency: "KES" })
)
const figure = fc.option(fc.bigInt({ min: 0n, max: 200_000n }), { nil: null })
const resolutions = fc.record({ outcome: fc.constantFrom("successful" as const, "failed" as const), amount: figure, fee: figure })
const bounds = fc.dictionary(fc.constantFrom(...Currency.literals), fc.bigInt({ min: 0n, max: 200_000n }))

describe("whether a ruling takes two people", () => {
  it("is never less of a question for what the ruling itself says, for a lower amount, or for a second currency", () => {
    fc.assert(
      fc.property(
        records,
        resolutions,
        bounds,
        fc.bigInt({ min: 0n, max: 200_000n }),
        (record, { amount, fee, outcome }, some, less) => {
          const from = amounts(some, 200_000n)
          const resolution = say(outcome, amount, fee)
          const itself = needsTwo(from, record, null)
          const ruled = needsTwo(from, record, resolution)
          expect(!itself || ruled).toBe(true)
          const lower = Object.fromEntries(
            Object.entries(from).map(([currency, one]) => [currency, one > less ? minor(one - less) : minor(0n)])
          ) as ApprovalAmounts
          expect(!ruled || needsTwo(lower, record, resolution)).toBe(true)
        }
      )
    )
  })

  it("is said of each ruling where the amount is none, and of none of these where it is the largest", () => {
    for (const record of Object.values(cases)) {
      expect(needsTwo(amounts({}, 0n), record, null)).toBe(true)
      expect(needsTwo(amounts({}, LARGEST_AMOUNT), record, null)).toBe(false)
    }
  })
})
