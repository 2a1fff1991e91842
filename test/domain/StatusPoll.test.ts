import { describe, expect, it } from "vitest"
import type { Fact } from "../../src/domain/Fact.ts"
import { decide } from "../../src/domain/Moves.ts"
import { countPoll, provenFact, type StatusPoll } from "../../src/domain/StatusPoll.ts"
import type { Transaction } from "../../src/domain/Transaction.ts"
import { cases, ruled } from "../support/ReviewCases.ts"
import { factNames, facts, TOLD_AT } from "../support/SampleFacts.ts"
import { collection, NOON, payout } from "../support/SampleTransactions.ts"

const GRACE_MS = 600_000
const { NotFound, StillPending, Succeeded } = facts(10_000n)

/** The schedule's fourth poll of a record that was made at noon, when the grace is just over. */
const poll = (overrides: Partial<StatusPoll> = {}): StatusPoll => ({
  provider: "eversend",
  actor: "reconciler",
  polledAt: NOON + GRACE_MS,
  leaps: [],
  begunAt: Number.NEGATIVE_INFINITY,
  pollCount: 3,
  version: 1,
  isDocumented: true,
  isListed: false,
  graceMs: GRACE_MS,
  notFoundAtLeast: 3,
  ...overrides
})
/** Polled three times, and the provider found nothing the last two times. */
const polled = { asked: 3, notFound: 2 }
const neverSent: Fact = { _tag: "NotSent", note: "asked so often, the provider does not know it" }
const overTime: Fact = { _tag: "Expired", note: "the window passed and the provider knows no such charge" }

describe("that a provider does not find a record", () => {
  it.each([
    ["after the grace, the third time in a row", payout(polled), poll(), neverSent],
    ["a millisecond before the end of the grace", payout(polled), poll({ polledAt: NOON + GRACE_MS - 1 }), NotFound],
    ["within the grace since it last changed", payout({ ...polled, updatedAt: NOON + 1 }), poll(), NotFound],
    [
      "after a grace through which a clock has stepped",
      payout(polled),
      poll({ leaps: [{ from: NOON + 5, to: NOON + 6 }] }),
      NotFound
    ],
    ["a grace after a clock has stepped", payout(polled), poll({ leaps: [{ from: NOON - 9, to: NOON }] }), neverSent],
    [
      "as much longer as a clock leapt",
      payout(polled),
      poll({ leaps: [{ from: NOON + 5, to: NOON + 6 }], polledAt: NOON + GRACE_MS + 1 }),
      neverSent
    ],
    ["in a process that began within the grace", payout(polled), poll({ begunAt: NOON + 1 }), NotFound],
    ["in a process that began a grace ago", payout(polled), poll({ begunAt: NOON }), neverSent],
    ["the second time in a row", payout({ ...polled, notFound: 1 }), poll(), NotFound],
    ["more often than is needed", payout({ ...polled, notFound: 7 }), poll(), neverSent],
    ["where no documentation says that it finds what it was sent", payout(polled), poll({ isDocumented: false }), NotFound],
    ["in a poll for a callback", payout(polled), poll({ actor: "callback" }), NotFound],
    ["in a poll for a request", payout(polled), poll({ actor: "request" }), NotFound],
    ["in a poll that was counted before", payout({ ...polled, asked: 4 }), poll(), NotFound],
    ["in a poll about an earlier version", payout({ ...polled, version: 2 }), poll(), NotFound],
    ["when a payout is closed", payout({ ...polled, status: "successful" }), poll(), NotFound],
    ["about an exchange", { ...cases["pending exchange"], ...polled }, poll(), neverSent],
    [
      "about a payout with an expiry that passed",
      payout({ ...polled, notFound: 0, expiresAt: NOON }),
      poll({ polledAt: NOON + 1 }),
      NotFound
    ],
    [
      "about a charge a millisecond before its window ends",
      collection({ expiresAt: NOON + 1 }),
      poll({ polledAt: NOON }),
      NotFound
    ],
    ["about a charge whose window has just ended", collection({ expiresAt: NOON + 1 }), poll({ polledAt: NOON + 1 }), overTime],
    [
      "about a charge whose window a clock leapt over",
      collection({ expiresAt: NOON + 9 }),
      poll({ polledAt: NOON + 16, leaps: [{ from: NOON + 1, to: NOON + 9 }] }),
      NotFound
    ],
    [
      "about a charge whose window ended although a clock leapt",
      collection({ expiresAt: NOON + 9 }),
      poll({ polledAt: NOON + 17, leaps: [{ from: NOON + 1, to: NOON + 9 }] }),
      overTime
    ],
    [
      "about a charge whose window is over, for a callback",
      collection({ expiresAt: NOON }),
      poll({ actor: "callback", isDocumented: false }),
      overTime
    ],
    [
      "about a charge whose window is over, where its provider cannot be asked for it",
      collection({ ...polled, expiresAt: NOON }),
      poll({ isDocumented: false, isUnaskable: true }),
      NotFound
    ],
    ["about a charge without a window", collection({ ...polled, expiresAt: null }), poll(), neverSent],
    ["about a charge that expired before", collection({ status: "expired", expiresAt: NOON }), poll(), NotFound]
  ] as const)("proves this: %s", (_, record, made, proven) => {
    expect(provenFact(record, NotFound, made)).toStrictEqual(proven)
  })

  it.each(factNames.filter((name) => name !== "NotFound"))("is nothing that %s says: that is believed as it is", (name) => {
    const fact = facts(10_000n)[name]
    expect(provenFact(payout(polled), fact, poll())).toBe(fact)
    expect(provenFact(collection({ expiresAt: NOON }), fact, poll())).toBe(fact)
  })
})

describe("that a payer has not finished a charge", () => {
  const unfinished = { ...StillPending, isUnfinished: true } as const
  const expired: Fact = { _tag: "Expired", note: "the window passed and the payer did not finish it" }
  it.each([
    ["nothing within its window", collection({ expiresAt: NOON + GRACE_MS + 1 }), unfinished],
    ["that it expired, when its window has ended", collection({ expiresAt: NOON + GRACE_MS }), expired],
    ["nothing of a charge without a window", collection({ expiresAt: null }), unfinished],
    ["nothing of one that expired before", collection({ status: "expired", expiresAt: NOON }), unfinished]
  ] as const)("proves %s", (_, record, proven) => {
    expect(provenFact(record, unfinished, poll())).toStrictEqual(proven)
  })
})

describe("a failure that its provider may correct", () => {
  const MINUTE = 60_000
  const { Refused, Unknown } = facts(10_000n)
  const unsure = { ...Refused, isUnsure: true, note: "INTERNAL" } as const
  const doubted = {
    _tag: "StillPending",
    providerReference: "P1",
    isDoubted: true,
    note: "INTERNAL: it is asked about once more"
  }
  const said = (record: Transaction, fact: Fact, polledAt: number) => {
    const made = poll({ polledAt })
    const proven = provenFact(record, fact, made)
    return { proven, next: countPoll(record, record, proven, made) }
  }

  it("is believed when it is said again a minute later, and not before, whoever asks", () => {
    for (const record of [payout(), collection({ expiresAt: null }), cases["pending exchange"]]) {
      const first = said(record, unsure, NOON)
      expect([first.proven, first.next.doubtedSince]).toStrictEqual([doubted, NOON])
      const early = said(first.next, unsure, NOON + MINUTE - 1)
      expect([early.proven, early.next.doubtedSince]).toStrictEqual([doubted, NOON])
      expect(said(early.next, unsure, NOON + MINUTE).proven).toBe(unsure)
      expect(
        provenFact(early.next, unsure, poll({ polledAt: NOON + MINUTE, leaps: [{ from: NOON, to: NOON + 9 }] }))
      ).toMatchObject(doubted)
    }
  })

  it("is believed by a process that began since only after a minute of its own clock", () => {
    const { next } = said(payout(), unsure, NOON)
    const began = NOON + 5 * MINUTE
    const asked = (polledAt: number) => provenFact(next, unsure, poll({ polledAt, begunAt: began }))
    expect(asked(began + MINUTE - 1)).toStrictEqual(doubted)
    expect(asked(began + MINUTE)).toBe(unsure)
  })

  it("is doubted anew after another answer, and silence takes nothing back", () => {
    const { next } = said(payout(), unsure, NOON)
    for (const silent of [Unknown, NotFound]) expect(said(next, silent, NOON + 1).next.doubtedSince).toBe(NOON)
    const goesOn = said(next, StillPending, NOON + 1).next
    expect(goesOn).not.toHaveProperty("doubtedSince")
    expect(said(goesOn, unsure, NOON + 2 * MINUTE).proven).toStrictEqual(doubted)
  })

  it("stays in doubt once it is believed, until its provider is sure, and a person's ruling ends it", () => {
    const inDoubt = { doubtedSince: NOON, providerReference: "P1" }
    const failed = payout({ ...inDoubt, status: "failed", failedBy: "provider" })
    const believed = (record: Transaction, fact: Fact) =>
      countPoll(record, decide(record, fact, "reconciler", TOLD_AT).next, fact, poll({ polledAt: TOLD_AT })).doubtedSince
    for (const record of [payout(inDoubt), failed, collection({ ...inDoubt, status: "failed", failedBy: "provider" })]) {
      expect(believed(record, unsure)).toBe(NOON)
      for (const sure of [Refused, Succeeded]) expect(believed(record, sure)).toBeUndefined()
    }
    const { Accepted, Clawback, Mismatched, Returned } = facts(10_000n)
    for (const fact of [Unknown, NotFound, StillPending, Accepted, Mismatched, Clawback])
      expect(believed(failed, fact)).toBe(NOON)
    expect(believed(failed, Returned)).toBeUndefined()
    for (const outcome of ["successful", "failed"] as const)
      expect(ruled({ ...failed, needsReview: true }, outcome)).not.toHaveProperty("doubtedSince")
  })

  it("is in doubt, too, where a payout failed because nobody found it, and not where the request knows that nothing left", () => {
    const { NotSent } = facts(10_000n)
    const closed = (record: Transaction, made: StatusPoll | null) =>
      countPoll(record, decide(record, NotSent, made === null ? "request" : "reconciler", TOLD_AT).next, NotSent, made)
    expect(closed(payout(), poll({ polledAt: TOLD_AT }))).toMatchObject({ status: "failed", doubtedSince: TOLD_AT })
    // A failed charge is asked about anyway; a payout with a handle stays open.
    for (const [record, made] of [
      [payout(), null],
      [collection(), poll()],
      [payout({ providerReference: "P1" }), poll()]
    ] as const)
      expect(closed(record, made)).not.toHaveProperty("doubtedSince")
  })

  it("is news of a closed record at once, and a sure one needs no second look", () => {
    expect(provenFact(payout({ status: "successful" }), unsure, poll())).toBe(unsure)
    expect(provenFact(payout(), Refused, poll())).toBe(Refused)
  })
})

describe("the count of polls", () => {
  const given = payout(polled)
  const counted = (fact: Fact, made: StatusPoll | null, next: Transaction = given) => {
    const { asked, notFound } = countPoll(given, next, fact, made)
    return [asked, notFound]
  }

  it.each([
    ["one more, and one more without a find", NotFound, poll(), [4, 3]],
    ["one more, and the row is broken by a charge under way", StillPending, poll(), [4, 0]],
    ["one more, and the row is as it was after any other answer", Succeeded, poll(), [4, 2]],
    ["no more for a poll of a callback", NotFound, poll({ actor: "callback" }), [3, 2]],
    ["no more for a poll that was counted before", NotFound, poll({ pollCount: 2 }), [3, 2]],
    ["no more for a poll about an earlier version", NotFound, poll({ version: 0 }), [3, 2]],
    ["no more for what was no poll", NotFound, null, [3, 2]],
    ["a broken row for what was no poll", StillPending, null, [3, 0]]
  ] as const)("is %s", (_, fact, made, expected) => {
    expect(counted(fact, made)).toStrictEqual(expected)
  })

  it("is left as the move says where the status or the provider changes", () => {
    expect(counted(NotFound, poll(), payout({ status: "failed", asked: 0, notFound: 0 }))).toStrictEqual([0, 0])
    expect(counted(NotFound, poll(), payout({ provider: "other", asked: 0, notFound: 0 }))).toStrictEqual([0, 0])
  })

  it("changes nothing else of the record", () => {
    const next = payout({ providerReference: "P1", version: 2 })
    expect(countPoll(given, next, NotFound, poll())).toStrictEqual({ ...next, asked: 4, notFound: 3 })
  })
})
