import { describe, expect, it } from "vitest"
import { broughtBy, feeUnlessSaid, knownFee, spokeOfAnother } from "../../src/domain/KnownFee.ts"
import { minor, ZERO } from "../../src/domain/Money.ts"
import type { Collection, Payout } from "../../src/domain/Payment.ts"
import { collection, NOON, payout } from "../support/SampleTransactions.ts"

const reported = (amount: bigint, fee: bigint) => ({ reported: { amount: minor(amount), fee: minor(fee) } })
const seen = (amount: bigint, currency: "UGX" | "USD" = "UGX") => ({ observedAmount: minor(amount), observedCurrency: currency })
const contract = { contractFee: minor(900n) }
const booked = { status: "successful", completedAt: NOON } as const

describe("the amount that a collection brought", () => {
  it.each<readonly [string, Collection, bigint, boolean]>([
    ["what was asked for, where the provider named none", collection(), 50_000n, false],
    ["what the provider named, where that is in our currency", collection(seen(40_000n)), 40_000n, false],
    ["what the provider named without a currency", collection({ observedAmount: minor(40_000n) }), 40_000n, false],
    ["what was asked for, where the provider named another currency", collection(seen(13n, "USD")), 50_000n, true],
    ["what was asked for, where the provider named our currency alone", collection({ observedCurrency: "UGX" }), 50_000n, false]
  ])("is %s", (_, record, amount, isAnother) => {
    expect([broughtBy(record), spokeOfAnother(record)]).toStrictEqual([amount, isAnother])
  })
})

describe("the known fee of a movement", () => {
  it.each<readonly [string, Collection | Payout, bigint, bigint | null]>([
    // Of a payout.
    ["an open payout's: nobody has named one yet", payout(), 10_000n, null],
    ["an open payout's of which the provider said", payout(reported(10_000n, 700n)), 10_000n, 700n],
    ["that of another amount than the provider named", payout(reported(9_000n, 700n)), 10_000n, null],
    ["that of the other amount that the provider named", payout(reported(9_000n, 700n)), 9_000n, 700n],
    ["a delivered payout's, as it was booked", payout({ ...booked, fees: minor(700n) }), 10_000n, 700n],
    ["a delivered payout's that cost nothing", payout({ ...booked, fees: null }), 10_000n, 0n],
    ["a delivered payout's of another amount", payout({ ...booked, fees: minor(700n) }), 9_999n, null],
    [
      "a delivered payout's, as it was booked, whatever was said afterwards",
      payout({ ...booked, fees: minor(700n), ...reported(10_000n, 800n) }),
      10_000n,
      700n
    ],
    [
      "a delivered payout's of the other amount that was said afterwards",
      payout({ ...booked, ...reported(9_000n, 800n) }),
      9_000n,
      800n
    ],
    ["a failed payout's, which was given back", payout({ status: "failed", fees: ZERO }), 10_000n, null],
    [
      "a failed payout's of which the provider said",
      payout({ status: "failed", fees: ZERO, ...reported(10_000n, 700n) }),
      10_000n,
      700n
    ],
    [
      "a payout's by the amount that is sent, not the one that was asked for",
      payout({ ...booked, amount: minor(11_000n) }),
      11_000n,
      null
    ],
    // Of a collection.
    ["an open charge's: nobody has named one yet", collection(), 50_000n, null],
    ["an open charge's by its contract", collection(contract), 50_000n, 900n],
    ["an open charge's of which the provider said", collection({ ...contract, ...reported(50_000n, 600n) }), 50_000n, 600n],
    ["that of another amount than its contract was asked for", collection({ ...contract, ...seen(40_000n) }), 40_000n, null],
    [
      "that of the amount its contract was asked for, though another one came",
      collection({ ...contract, ...seen(40_000n) }),
      50_000n,
      900n
    ],
    ["that of another amount than the provider named", collection(reported(40_000n, 600n)), 50_000n, null],
    [
      "a credited charge's, as it was booked",
      collection({ ...booked, ...seen(40_000n), fees: minor(750n), ...contract }),
      40_000n,
      750n
    ],
    ["a credited charge's that cost nothing", collection({ ...booked, ...seen(40_000n) }), 40_000n, 0n],
    [
      "a credited charge's of the amount that was asked for",
      collection({ ...booked, ...seen(40_000n), fees: minor(750n) }),
      50_000n,
      null
    ],
    ["a failed charge's by its contract", collection({ ...contract, status: "failed" }), 50_000n, 900n],
    ["nothing of an amount that nobody named", collection({ ...contract, ...reported(40_000n, 600n) }), 30_000n, null]
  ])("is %s", (_, record, amount, fee) => {
    expect(knownFee(record, minor(amount))).toBe(fee)
  })
})

describe("the fee that a success books where no fee is given", () => {
  it.each<readonly [string, Collection | Payout, bigint | null]>([
    ["what was held for an open payout", payout(), 1_000n],
    ["what the provider named for a payout", payout(reported(10_000n, 700n)), 700n],
    ["what was held, where the provider named that of another amount", payout(reported(9_000n, 700n)), 1_000n],
    ["what was booked for a delivered payout", payout({ ...booked, fees: minor(700n) }), 700n],
    ["nothing for a delivered payout that cost nothing", payout({ ...booked, fees: null }), 0n],
    ["none for a charge of which nobody named one: a person has to", collection(), null],
    ["what its contract says", collection(contract), 900n],
    ["none for another amount than its contract's", collection({ ...contract, ...seen(40_000n) }), null],
    ["what the provider named for what came", collection({ ...seen(40_000n), ...reported(40_000n, 600n) }), 600n],
    [
      "none where the provider spoke of another currency, whatever is known",
      collection({ ...seen(13n, "USD"), ...contract }),
      null
    ],
    ["what was booked for a credited charge", collection({ ...booked, ...seen(40_000n), fees: minor(750n) }), 750n]
  ])("is %s", (_, record, fee) => {
    expect(feeUnlessSaid(record)).toBe(fee)
  })
})
