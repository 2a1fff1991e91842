import { describe, expect, it } from "vitest"
import { type Clawback, clawback, isKnown } from "../../src/domain/Clawback.ts"
import { afterRuling, reportOf } from "../../src/domain/Contradiction.ts"
import { minor } from "../../src/domain/Money.ts"
import type { Collection } from "../../src/domain/Payment.ts"
import type { Transaction } from "../../src/domain/Transaction.ts"
import { cases } from "../support/ReviewCases.ts"
import { collection, NOON } from "../support/SampleTransactions.ts"

const ANSWER_BY = Date.parse("2026-12-01T18:00:00Z")
const listed = {
  by: "dispute",
  id: "771203",
  state: "open",
  amount: minor(50_000n),
  currency: "UGX",
  reason: "chargeback",
  answerBy: ANSWER_BY
} as const
const told = (change: Partial<Omit<Clawback, "_tag" | "note">> = {}) => clawback({ ...listed, ...change })

describe("what a provider lists as taken back, in a line for the person who rules", () => {
  it.each<readonly [string, Partial<Omit<Clawback, "_tag" | "note">>, string]>([
    [
      "an open dispute",
      {},
      "dispute 771203 of 50000 UGX: chargeback: it is open, and nothing was taken yet: answer it by 2026-12-01T18:00:00.000Z"
    ],
    [
      "one that nobody has to answer",
      { answerBy: null },
      "dispute 771203 of 50000 UGX: chargeback: it is open, and nothing was taken yet"
    ],
    [
      "one that was lost, and can be answered no more",
      { state: "taken" },
      "dispute 771203 of 50000 UGX: chargeback: it was taken back"
    ],
    ["one that was won", { state: "kept" }, "dispute 771203 of 50000 UGX: chargeback: it ended, and nothing was taken"],
    [
      "one in a word that nobody knows",
      { state: "unknown", reason: "status reviewed_again" },
      "dispute 771203 of 50000 UGX: status reviewed_again: the gateway does not know this status: look at the provider whether money was taken: answer it by 2026-12-01T18:00:00.000Z"
    ],
    [
      "a refund, in major units",
      { by: "refund", id: "R9", state: "taken", amount: minor(10_050n), currency: "KES", reason: null, answerBy: null },
      "refund R9 of 100.50 KES: it was taken back"
    ],
    [
      "one without an amount or a reason",
      { amount: null, currency: "NGN", reason: null, answerBy: null },
      "dispute 771203 of an amount in NGN that is not said: it is open, and nothing was taken yet"
    ]
  ])("%s", (_, change, note) => {
    expect(told(change)).toStrictEqual({ _tag: "Clawback", ...listed, ...change, note })
  })
})

const credited = collection({
  status: "successful",
  completedAt: NOON,
  observedAmount: minor(50_000n),
  observedCurrency: "UGX",
  fees: minor(750n)
})
const report = (fact: Clawback) => [reportOf(fact) ?? expect.unreachable("a clawback reports nothing")]
const ruled = (record: Collection, outcome: "successful" | "failed", found: bigint | null = null): Collection => ({
  ...record,
  ...afterRuling(record, outcome, found === null ? null : minor(found))
})

describe("what a provider lists as taken back is news", () => {
  it("once, of a collection that succeeded", () => {
    expect(isKnown(credited, told())).toBe(false)
    expect(isKnown({ ...credited, said: report(told()) }, told())).toBe(true)
    expect(isKnown({ ...credited, said: ["succeeded 50000 UGX", ...report(told())] }, told())).toBe(true)
    expect(isKnown({ ...credited, saidAtOpening: report(told()) }, told())).toBe(true)
    expect(isKnown({ ...credited, said: [], saidAtOpening: ["failed"] }, told())).toBe(false)
  })

  it.each<readonly [string, Partial<Clawback>]>([
    ["of another dispute", { id: "771204" }],
    ["of a refund with the same number", { by: "refund" }],
    ["of another amount", { amount: minor(20_000n) }],
    ["of an amount that is not said", { amount: null }],
    ["in another currency", { currency: "USD" }],
    ["that it was lost", { state: "taken" }],
    ["that it was won", { state: "kept" }],
    ["in a word that nobody knows", { state: "unknown" }]
  ])("each time that it is another report: %s", (_, change) => {
    const heard = { ...credited, said: report(told()) }
    expect(isKnown(heard, told(change))).toBe(false)
    expect(isKnown({ ...heard, said: [...heard.said, ...report(told(change))] }, told(change))).toBe(true)
  })

  it("for each word that nobody knows", () => {
    const first = told({ state: "unknown", reason: "status parked" })
    const other = told({ state: "unknown", reason: "status escalated" })
    expect(isKnown({ ...credited, said: report(first) }, first)).toBe(true)
    expect(isKnown({ ...credited, said: report(first) }, other)).toBe(false)
  })

  it("of nothing else: what was not credited, or was ruled to be gone, has nothing that could be taken", () => {
    const others: ReadonlyArray<Transaction> = [
      ...Object.values(cases).filter(({ kind, status }) => kind !== "collection" || status !== "successful"),
      ruled(credited, "failed")
    ]
    expect(others.map((record) => isKnown(record, told({ state: "taken" })))).toStrictEqual(others.map(() => true))
  })

  it("not to the person who ruled on it, and again where it then goes on", () => {
    const inReview = { ...credited, needsReview: true, said: report(told()), saidAtOpening: report(told()) }
    const kept = ruled(inReview, "successful")
    expect([isKnown(kept, told()), isKnown(kept, told({ state: "taken" }))]).toStrictEqual([true, false])
    const refund = told({ by: "refund", id: "R9", amount: minor(20_000n), state: "taken" })
    const part = ruled({ ...credited, needsReview: true, said: report(refund) }, "successful", 30_000n)
    expect([isKnown(part, refund), isKnown(part, told())]).toStrictEqual([true, false])
  })
})
