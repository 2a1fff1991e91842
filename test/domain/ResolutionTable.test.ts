import { describe, expect, it } from "vitest"
import { minor } from "../../src/domain/Money.ts"
import { actionsFor, type Resolution, type ResolutionAction, resolvedCurrency, rulingOn } from "../../src/domain/Resolution.ts"
import { textOf } from "../support/EntryLines.ts"
import { type Any, cases, decided, say } from "../support/ReviewCases.ts"
import { TOLD_AT } from "../support/SampleFacts.ts"
import { collection, NOON } from "../support/SampleTransactions.ts"

const waiting = collection({
  amount: minor(10_000n),
  status: "requires_action",
  needsReview: true,
  nextAction: { _tag: "redirect", redirectUrl: "https://pay.example/1", message: "", expiresAt: NOON }
})
/** Each was asked about three times, and twice in a row its provider knew nothing. */
const records = { ...cases, "waiting collection": waiting } satisfies Record<string, Any>
const polled = (name: keyof typeof records): Any => ({ ...records[name], asked: 3, notFound: 2 })

const nothingMoved = { code: "unknown", message: "A person established that no money moved." }
const successful = { status: "successful", completedAt: TOLD_AT, asked: 0, notFound: 0, failure: null }
const debited = { ...successful, fees: 1_000n }
const failed = { status: "failed", completedAt: TOLD_AT, asked: 0, notFound: 0, failedBy: "person", failure: nothingMoved }
const paid = { nextAction: null, observedAmount: 10_000n, observedCurrency: "UGX", fees: 0n }
const payoutEntry = ["UGX paid_out 10000", "UGX provider_fees 1000"]
const collected = ["collect", "UGX available 10000", "UGX collected -10000"]
const exchanged = ["UGX fx_out 10000", "KES available 34864", "KES fx_in -34864"]
/** It was right: nothing is posted, nobody is told, and nothing changes. */
const kept = ["keep", null, null, {}] as const

type Row = readonly [action: ResolutionAction, entry: ReadonlyArray<string> | null, event: string | null, changes: object]

// The whole table, by hand: what each ruling posts, whom it tells, and what it changes besides ending the case.
const table: { readonly [C in keyof typeof records]: { readonly [O in Resolution["outcome"]]: Row } } = {
  "pending payout": {
    successful: ["settle", ["settle", "UGX reserved -11000", ...payoutEntry], "payout.successful", successful],
    failed: ["release", ["release", "UGX reserved -11000", "UGX available 11000"], "payout.failed", { ...failed, fees: 0n }]
  },
  "successful payout": {
    successful: ["correct", null, null, {}],
    failed: [
      "correct",
      ["correct", "UGX available 11000", "UGX returned -11000"],
      "payout.returned",
      { returned: { amount: 11_000n, at: TOLD_AT, reason: nothingMoved.message, fee: 1_000n }, returnedBefore: null }
    ]
  },
  "failed payout": {
    successful: ["correct", ["correct", "UGX available -11000", ...payoutEntry], "payout.successful", debited],
    failed: kept
  },
  "unsent payout": {
    successful: ["correct", ["correct", "UGX available -11000", ...payoutEntry], "payout.successful", debited],
    failed: kept
  },
  "waiting collection": {
    successful: ["collect", collected, "collection.successful", { ...successful, ...paid }],
    failed: ["close", null, "collection.failed", { ...failed, nextAction: null }]
  },
  "pending collection": {
    successful: ["collect", collected, "collection.successful", { ...successful, ...paid }],
    failed: ["close", null, "collection.failed", failed]
  },
  "successful collection": {
    successful: ["correct", null, null, { fees: 0n }],
    failed: [
      "correct",
      ["correct", "UGX available -10000", "UGX collected 10000"],
      "collection.reversed",
      { reversed: { amount: 10_000n, at: TOLD_AT, reason: "It was reversed after it had succeeded." } }
    ]
  },
  "failed collection": {
    successful: ["collect", collected, "collection.successful", { ...successful, ...paid, lateSuccess: true }],
    failed: kept
  },
  "unsent collection": {
    successful: ["collect", collected, "collection.successful", { ...successful, ...paid, lateSuccess: true }],
    failed: kept
  },
  "expired collection": {
    successful: ["collect", collected, "collection.successful", { ...successful, ...paid, lateSuccess: true }],
    failed: kept
  },
  "pending exchange": {
    successful: ["settle", ["exchange", "UGX reserved -10000", ...exchanged], "fx.successful", successful],
    failed: ["release", ["release", "UGX reserved -10000", "UGX available 10000"], "fx.failed", failed]
  },
  "successful exchange": {
    successful: kept,
    failed: [
      "correct",
      ["correct", "UGX available 10000", "UGX fx_out -10000", "KES available -34864", "KES fx_in 34864"],
      "fx.failed",
      failed
    ]
  },
  "failed exchange": {
    successful: ["correct", ["correct", "UGX available -10000", ...exchanged], "fx.successful", successful],
    failed: kept
  },
  "unsent exchange": {
    successful: ["correct", ["correct", "UGX available -10000", ...exchanged], "fx.successful", successful],
    failed: kept
  }
}

const keysOf = <T extends object>(one: T): ReadonlyArray<keyof T & string> =>
  Object.keys(one).filter((key): key is keyof T & string => key in one)
const rulings = keysOf(records).flatMap((name) => (["successful", "failed"] as const).map((outcome) => [name, outcome] as const))

describe("the table of what a person's ruling does", () => {
  it.each(rulings)("a %s ruled %s", (name, outcome) => {
    const record = polled(name)
    const [action, entry, event, changes] = table[name][outcome]
    const fee = outcome === "successful" && record.kind === "collection" ? 0n : null
    const decision = decided(rulingOn(record, say(outcome, null, fee), TOLD_AT))
    expect(actionsFor(record)[outcome]).toBe(action)
    expect([textOf(decision.entry), decision.event]).toStrictEqual([entry, event])
    expect(decision.next).toStrictEqual({
      ...record,
      needsReview: false,
      version: 2,
      updatedAt: TOLD_AT,
      said: [],
      saidAtOpening: [],
      ruling: { outcome, known: [] },
      ...changes
    })
  })

  it.each(keysOf(records))("a %s that is ruled failed has no amount", (name) => {
    const refusal = "what failed moved nothing: an amount goes with the outcome successful"
    expect(rulingOn(polled(name), say("failed", 1n), TOLD_AT)).toBe(refusal)
    expect(rulingOn(polled(name), say("failed", 0n, 0n), TOLD_AT)).toBe(refusal)
  })

  it("is about what left the float, and of an exchange about what it brings", () => {
    const named = [cases["pending payout"], cases["pending collection"], cases["pending exchange"]]
    expect(named.map(resolvedCurrency)).toStrictEqual(["UGX", "UGX", "KES"])
  })
})
