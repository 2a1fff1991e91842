import { describe, expect, it } from "vitest"
import { confirms, contradicts, Reported } from "../../src/domain/CallbackReport.ts"
import { afterRuling } from "../../src/domain/Contradiction.ts"
import { minor } from "../../src/domain/Money.ts"
import type { Transaction } from "../../src/domain/Transaction.ts"
import { cases } from "../support/ReviewCases.ts"
import { collection, NOON, payout } from "../support/SampleTransactions.ts"

const returned = (amount: bigint) => ({ amount: minor(amount), at: NOON, reason: "" })
const paid = payout({ status: "successful", completedAt: NOON })
const failed = payout({ status: "failed", completedAt: NOON })
const collected = collection({ status: "successful", completedAt: NOON })

/** What each word of a callback is to a record. */
const standing = (record: Transaction) =>
  Reported.literals.map((word) => (contradicts(record, word) ? "against" : confirms(record, word) ? "the same" : "open"))

describe("what a callback says", () => {
  it.each<readonly [string, Transaction, ReadonlyArray<string>]>([
    ["an open payout", payout(), ["open", "against", "against", "against"]],
    ["an open charge", collection(), ["open", "against", "against", "against"]],
    ["a paid payout", paid, ["open", "the same", "against", "against"]],
    ["a payout that came back", { ...paid, returned: returned(paid.principal) }, ["open", "the same", "the same", "the same"]],
    ["a payout of which a part came back", { ...paid, returned: returned(1n) }, ["open", "the same", "against", "open"]],
    ["a failed payout", failed, ["open", "against", "the same", "the same"]],
    ["a successful charge", collected, ["open", "the same", "against", "against"]],
    ["a reversed charge", { ...collected, reversed: returned(1n) }, ["open", "the same", "the same", "the same"]],
    ["an open exchange", cases["pending exchange"], ["open", "against", "against", "against"]],
    ["an exchange that was made", cases["successful exchange"], ["open", "the same", "against", "against"]],
    ["an exchange that failed", cases["failed exchange"], ["open", "against", "the same", "the same"]],
    ["an expired charge", collection({ status: "expired", completedAt: NOON }), ["open", "against", "the same", "the same"]]
  ])("of %s: pending, successful, failed, returned", (_, record, expected) => {
    expect(standing(record)).toStrictEqual(expected)
  })

  it("contradicts nothing where a person ruled who knew of it", () => {
    const known = { ...failed, said: ["succeeded 10000 UGX", "failed"], saidAtOpening: ["succeeded 10000 UGX", "failed"] }
    expect(standing({ ...failed, ...afterRuling(known, "failed", null) })).toStrictEqual([
      "open",
      "the same",
      "the same",
      "the same"
    ])
    expect(standing({ ...failed, ...afterRuling(failed, "failed", null) })).toStrictEqual([
      "open",
      "against",
      "the same",
      "the same"
    ])
    expect(standing({ ...collected, ...afterRuling(collected, "failed", null) })[2]).toBe("the same")
  })

  it("says nothing where it has no word that is known", () => {
    const records = [payout(), paid, failed, collected]
    expect(records.map((record) => contradicts(record, null) || confirms(record, null))).toStrictEqual(records.map(() => false))
    expect(Reported.literals).toStrictEqual(["pending", "successful", "failed", "returned"])
  })
})
