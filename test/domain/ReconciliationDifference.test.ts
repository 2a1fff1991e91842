import { describe, expect, it } from "vitest"
import type { LedgerRecord } from "../../src/domain/Exchange.ts"
import { minor } from "../../src/domain/Money.ts"
import { differences, knownBecause, type ProviderRecord } from "../../src/domain/ReconciliationDifference.ts"
import { collection, NOON, payout } from "../support/SampleTransactions.ts"

const theirs = (status: "pending" | "successful" | "failed" | "returned", change: object = {}): ProviderRecord => ({
  status,
  amount: null,
  currency: null,
  fee: null,
  ...change
})
const absent: ProviderRecord = { status: "absent" }

const found = (record: LedgerRecord, line: ProviderRecord) =>
  differences(record, line).map(({ kind, ours, theirs: said }) => [kind, ours, said])

const paid = payout({ status: "successful" })
const returned = payout({ status: "successful", returned: { amount: minor(10_000n), at: NOON, reason: "" } })

describe("reconciliation", () => {
  // Each standing of ours beside each of theirs: what is not in the first list of a row is a difference of the state.
  const rows: ReadonlyArray<readonly [record: LedgerRecord, agrees: ReadonlyArray<ProviderRecord["status"]>]> = [
    [payout({ status: "pending" }), ["pending"]],
    [paid, ["successful"]],
    [returned, ["returned"]],
    [payout({ status: "failed" }), ["failed", "absent"]],
    [collection({ status: "requires_action" }), ["pending", "absent"]],
    [collection({ status: "pending" }), ["pending"]],
    [collection({ status: "successful" }), ["successful"]],
    [collection({ status: "failed" }), ["failed", "absent"]],
    [collection({ status: "expired" }), ["failed", "absent"]]
  ]
  it.each(rows)("finds states equal only where both sides say the same: %#", (record, agrees) => {
    for (const line of [theirs("pending"), theirs("successful"), theirs("failed"), theirs("returned"), absent]) {
      const expected = agrees.includes(line.status) ? [] : [line.status === "absent" ? "missing_there" : "state"]
      expect(differences(record, line).map(({ kind }) => kind)).toEqual(expected)
    }
  })

  it("compares amount, currency and fee to the minor unit, and only where money moved", () => {
    const same = { amount: minor(10_000n), currency: "UGX", fee: minor(1_000n) }
    expect(found(paid, theirs("successful", same))).toEqual([])
    expect(found(paid, theirs("successful", { ...same, fee: minor(1_001n) }))).toEqual([["fee", "1000", "1001"]])
    expect(found(paid, theirs("successful", { amount: minor(9_999n), currency: "KES", fee: minor(1_000n) }))).toEqual([
      ["currency", "UGX", "KES"],
      ["amount", "10000", "9999"]
    ])
    expect(found(payout({ status: "failed" }), theirs("failed", { ...same, amount: minor(1n) }))).toEqual([])
  })

  it("knows a fee whose excess the ledger booked, to the minor unit, and what is in review but for money that moved twice", () => {
    const [fee] = differences(paid, theirs("successful", { fee: minor(1_200n) }))
    const because = (change: object, bookedDrift: bigint, needsReview: boolean) =>
      fee === undefined ? "nothing" : knownBecause({ ...fee, ...change }, { bookedDrift, needsReview })
    expect([because({}, 200n, false), because({}, 199n, false), because({}, 0n, false)]).toEqual(["drift_booked", null, null])
    expect([because({}, 0n, true), because({ kind: "state" }, 0n, true)]).toEqual(["in_review", "in_review"])
    expect([because({ kind: "doubled" }, 0n, true), because({ kind: "missing_here" }, 0n, true)]).toEqual([null, null])
  })

  it("reports both states where they differ", () => {
    const line = theirs("successful", { amount: minor(10_000n), currency: "UGX" })
    expect(found(payout(), line)).toEqual([["state", "pending 10000 UGX", "successful 10000 UGX"]])
    expect(found(payout(), absent)).toEqual([["missing_there", "pending 10000 UGX", "absent"]])
  })
})
