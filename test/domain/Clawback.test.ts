import { describe, expect, it } from "vitest"
import { type Clawback, clawback, isKnown } from "../../src/domain/Clawback.ts"
import { afterRuling, reportOf } from "../../src/domain/Contradiction.ts"
import { minor } from "../../src/domain/Money.ts"
import type { Collection } from "../../src/domain/Payment.ts"
import { rulingOn } from "../../src/domain/Resolution.ts"
import type { Transaction } from "../../src/domain/Transaction.ts"
import { cases, decided, told as heard, say } from "../support/ReviewCases.ts"
import { facts, TOLD_AT } from "../support/SampleFacts.ts"
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

/** The record once its provider's list was read: what it knows already is processed no more. */
const read = (record: Transaction, fact: Clawback) => (isKnown(record, fact) ? record : heard(record, fact).next)

describe("a ruling on a dispute that was open then", () => {
  const rulings = {
    "waits for its end": say("successful"),
    "names what is booked": say("successful", 50_000n, 750n),
    "books less": say("successful", 30_000n, 750n),
    "books a larger fee": say("successful", 50_000n, 20_750n),
    "books nothing of it": say("failed")
  }
  const reports = {
    "still open": told(),
    won: told({ state: "kept" }),
    lost: told({ state: "taken" }),
    "another one, won": told({ id: "771204", state: "kept" }),
    "another one, opened": told({ id: "771204" })
  }
  type Name = keyof typeof rulings
  // Won, what a person booked is the tenant's again; lost, what a person left is not. Neither is anybody's but a person's.
  const opens: { readonly [R in Name]: ReadonlyArray<keyof typeof reports> } = {
    "waits for its end": ["lost", "another one, opened"],
    "names what is booked": ["lost", "another one, opened"],
    "books less": ["won", "lost", "another one, opened"],
    "books a larger fee": ["won", "lost", "another one, opened"],
    "books nothing of it": ["won"]
  }
  const openedBy = (record: Transaction) =>
    Object.entries(reports).flatMap(([name, fact]) => (read(record, fact).needsReview ? [name] : []))
  const names = Object.keys(rulings) as ReadonlyArray<Name>

  it.each(names)("that %s: a case is opened by what changes the float, and by nothing else", (name) => {
    const inReview = read(credited, told())
    expect(openedBy(decided(rulingOn(inReview, rulings[name], TOLD_AT)).next)).toStrictEqual(opens[name])
  })

  it("of the release before, that booked nothing of it, is one, too", () => {
    const ruling = { outcome: "failed", known: report(told()) } as const
    expect(openedBy({ ...credited, said: [], saidAtOpening: [], ruling })).toStrictEqual(["won"])
  })

  it.each(names)("that %s, in a case of something else that was open already when the dispute came", (name) => {
    const succeeded = { _tag: "Succeeded", providerReference: "P1", currency: "UGX", fee: null, note: "" } as const
    const inReview = read(heard(credited, { ...succeeded, amount: minor(40_000n) }).next, told())
    // The person may not have seen it: it is said again while it is open.
    const again = name === "books nothing of it" ? [] : (["still open"] as const)
    expect(openedBy(decided(rulingOn(inReview, rulings[name], TOLD_AT)).next)).toStrictEqual([...again, ...opens[name]])
  })

  it("is remembered over the rulings that follow, until the end was seen, and the float has what came in", () => {
    const steps = [told(), told({ by: "refund", id: "R9", state: "taken", amount: minor(5_000n) }), told({ state: "kept" })]
    const findings = [say("successful", 30_000n, 750n), say("successful", 30_000n, 750n), say("successful", 45_000n, 750n)]
    let record: Transaction = credited
    let moved = 0n
    for (const [at, fact] of steps.entries()) {
      record = read(record, fact)
      expect(record.needsReview).toBe(true)
      const { entry, next } = decided(rulingOn(record, findings[at] ?? say("failed"), TOLD_AT))
      for (const { account, amount } of entry?.postings ?? []) if (account === "available") moved += amount
      record = next
    }
    expect(moved).toBe(-5_000n)
    expect(steps.map((fact) => read(record, fact).needsReview)).toStrictEqual([false, false, false])
  })
})

describe("a refund of a part, of which Paystack's charge says that it was reversed, all of it", () => {
  const refund = told({ by: "refund", id: "R9", state: "taken", amount: minor(20_000n) })
  const { Returned } = facts(50_000n)
  const reversed = { ...Returned, amount: minor(50_000n), currency: "UGX" } as const
  const part = say("successful", 30_000n, 750n)

  it("is one case: the charge's word after the ruling, or while the case is open, opens no other", () => {
    const inReview = read(credited, refund)
    const ruledOn = decided(rulingOn(inReview, part, TOLD_AT)).next
    expect(heard(ruledOn, reversed).next.needsReview).toBe(false)
    const both = decided(rulingOn(heard(inReview, reversed).next, part, TOLD_AT)).next
    expect([heard(both, reversed).next.needsReview, read(both, refund).needsReview]).toStrictEqual([false, false])
    // Another refund is a case of its own.
    expect(read(ruledOn, { ...refund, id: "R10" }).needsReview).toBe(true)
  })

  it("is a person's where no list has it: the charge's word is all that there is", () => {
    expect(heard(credited, reversed).next.needsReview).toBe(true)
    const waiting = decided(rulingOn(read(credited, told()), say("successful"), TOLD_AT)).next
    expect(heard(waiting, reversed).next.needsReview).toBe(true)
  })
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
