import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { minor } from "../../src/domain/Money.ts"
import type { Collection } from "../../src/domain/Payment.ts"
import { isOverdue, nextPoll, POLLED_AFTER_PAYABLE_MS, POLLED_FOR_MS } from "../../src/domain/PollSchedule.ts"
import { countPoll, provenFact } from "../../src/domain/StatusPoll.ts"
import type { Transaction } from "../../src/domain/Transaction.ts"
import { cases } from "../support/ReviewCases.ts"
import { collection, NOON, payout } from "../support/SampleTransactions.ts"

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const schedule = { open: [15 * SECOND, 30 * SECOND, MINUTE, HOUR] }

/** Milliseconds from when the record was made to its next poll, as it is decided so long after it was made. */
const after = (record: Transaction, age: number, open: ReadonlyArray<number> = schedule.open) => {
  const at = nextPoll(record, { open }, NOON + age)
  return at === null ? null : at - NOON
}

describe("an open transaction is polled", () => {
  it.each([
    [0, 15 * SECOND],
    [15 * SECOND - 1, 15 * SECOND],
    [15 * SECOND, 30 * SECOND],
    [30 * SECOND, MINUTE],
    [MINUTE, HOUR],
    [HOUR - 1, HOUR],
    [HOUR, 2 * HOUR],
    [2 * HOUR - 1, 2 * HOUR],
    [2 * HOUR, 3 * HOUR],
    [DAY - 1, DAY],
    [DAY, null],
    [DAY + 1, null]
  ])("at the next age of the schedule, whose last repeats until it is a day old: at %d ms next at %s", (age, next) => {
    expect(after(payout(), age)).toBe(next)
    expect(after(cases["pending exchange"], age)).toBe(next)
  })

  it("a minute after a failure that is to be looked at once more, and then by the schedule", () => {
    const doubted = payout({ doubtedSince: NOON + 2 * HOUR })
    expect(after(doubted, 2 * HOUR)).toBe(2 * HOUR + MINUTE)
    expect(after(doubted, 2 * HOUR + MINUTE)).toBe(3 * HOUR)
    expect(after(payout({ doubtedSince: NOON }), 1)).toBe(MINUTE)
    expect(after(doubted, DAY)).toBeNull()
  })

  it("every hour where the schedule names no age", () => {
    expect([after(payout(), 0, []), after(payout(), HOUR, []), after(payout(), 90 * MINUTE, [])]).toStrictEqual([
      HOUR,
      2 * HOUR,
      2 * HOUR
    ])
  })

  it("when it expires, if that comes before its next age", () => {
    const expiring = (expiry: number | null) => collection({ expiresAt: expiry === null ? null : NOON + expiry })
    expect(after(expiring(20 * MINUTE), MINUTE)).toBe(20 * MINUTE)
    expect(after(expiring(20 * SECOND), 0)).toBe(15 * SECOND)
    expect(after(expiring(MINUTE + 1), MINUTE)).toBe(MINUTE + 1)
    expect(after(expiring(MINUTE), MINUTE)).toBe(HOUR)
    expect(after(expiring(MINUTE - 1), MINUTE)).toBe(HOUR)
    expect(after(expiring(null), MINUTE)).toBe(HOUR)
    expect(after(payout({ expiresAt: NOON + 20 * MINUTE }), MINUTE)).toBe(20 * MINUTE)
  })

  it("not before its code expires, while nothing was charged that could be found", () => {
    const code = { _tag: "otp", pinId: "V1", message: "", expiresAt: NOON + 10 * MINUTE } as const
    const waiting = (overrides: Partial<Collection> = {}) =>
      collection({ status: "requires_action", nextAction: code, expiresAt: NOON + 10 * MINUTE, ...overrides })
    expect(after(waiting(), 0)).toBe(10 * MINUTE)
    expect(after(waiting(), 10 * MINUTE - 1)).toBe(10 * MINUTE)
    expect(after(waiting(), 10 * MINUTE)).toBe(HOUR)
    expect(after(waiting({ expiresAt: null }), 0)).toBe(15 * SECOND)
    expect(after(waiting({ status: "pending", nextAction: null }), 0)).toBe(15 * SECOND)
  })
})

describe("a closed transaction is polled again", () => {
  const ages = (record: Transaction, looks: number) =>
    Array.from({ length: looks }, (_, asked) => after({ ...record, asked }, 5 * MINUTE))
  const closed = { completedAt: NOON + 1, updatedAt: NOON + 2 }
  const back = (amount: bigint) => ({ returned: { amount: minor(amount), at: NOON, reason: "" } })
  const ofPayout = [HOUR + 1, DAY + 1, 3 * DAY + 1, null, null]
  const never = [null, null, null, null, null]

  it.each([
    ["a successful payout after 1, 24 and 72 hours", payout({ ...closed, status: "successful" }), ofPayout],
    [
      "a payout that came back in part, because the rest may",
      payout({ ...closed, status: "successful", ...back(9_999n) }),
      ofPayout
    ],
    ["a payout whose whole amount came back: never", payout({ ...closed, status: "successful", ...back(10_000n) }), never],
    ["a payout that surely failed: never", payout({ ...closed, status: "failed" }), never],
    [
      "a payout that failed in words that its provider may correct",
      payout({ ...closed, status: "failed", doubtedSince: NOON }),
      ofPayout
    ],
    [
      "an expired charge after 1, 6, 24 and 72 hours",
      collection({ ...closed, status: "expired" }),
      [HOUR + 1, 6 * HOUR + 1, DAY + 1, 3 * DAY + 1, null]
    ],
    [
      "a successful charge, because it may be disputed or refunded for weeks",
      collection({ ...closed, status: "successful" }),
      [HOUR + 1, DAY + 1, 3 * DAY + 1, 7 * DAY + 1, 30 * DAY + 1, 45 * DAY + 1, null]
    ],
    ["a failed charge, because it may have been paid", collection({ ...closed, status: "failed" }), ofPayout],
    ["and one in doubt no more often", collection({ ...closed, status: "failed", doubtedSince: NOON }), ofPayout],
    ["a successful exchange: never", { ...cases["successful exchange"], ...closed }, never],
    [
      "since its last change where nothing says when it was closed",
      payout({ ...closed, completedAt: null, status: "successful" }),
      [HOUR + 2, DAY + 2, 3 * DAY + 2, null, null]
    ]
  ])("while something can still change: %s", (_, record, expected) => {
    expect(ages(record, expected.length)).toStrictEqual(expected)
  })

  it("for three days only, where the provider lists what is taken back of charges", () => {
    const charge = collection({ ...closed, status: "successful" })
    const next = [2, 3].map((asked) => nextPoll({ ...charge, asked }, schedule, NOON, true))
    expect(next).toStrictEqual([NOON + 3 * DAY + 1, null])
    expect(nextPoll({ ...charge, status: "expired", asked: 0 }, schedule, NOON, true)).toBe(NOON + HOUR + 1)
  })
})

describe("a transaction goes to a person", () => {
  it("when it is a day old and still open, once", () => {
    const goes = (record: Transaction, age: number) => isOverdue(record, NOON + age)
    expect(POLLED_FOR_MS).toBe(DAY)
    expect([goes(payout(), DAY - 1), goes(payout(), DAY), goes(payout(), DAY + 1)]).toStrictEqual([false, true, true])
    expect(goes(collection({ status: "requires_action" }), DAY)).toBe(true)
    expect(goes(payout({ needsReview: true }), DAY)).toBe(false)
    expect(goes(payout({ status: "successful" }), DAY)).toBe(false)
  })
})

describe("a charge that its payer may pay for a day", () => {
  const payableUntil = NOON + DAY
  const polledAt = (at: number) => ({
    provider: "eversend",
    actor: "reconciler" as const,
    polledAt: at,
    leaps: [],
    begunAt: NOON,
    pollCount: 0,
    version: 1,
    isDocumented: true,
    isListed: false,
    graceMs: 0,
    notFoundAtLeast: 3
  })
  /** What its provider says of one that its payer left. */
  const left = (at: number) => {
    const unfinished = { _tag: "StillPending", providerReference: "P1", note: "cancelled" } as const
    return at < payableUntil ? { ...unfinished, payableUntil } : { ...unfinished, isUnfinished: true as const }
  }

  it("is polled twelve hours beyond it, and only then goes to a person", () => {
    const charge = collection({ payableUntil })
    expect(POLLED_AFTER_PAYABLE_MS).toBe(12 * HOUR)
    expect([after(charge, DAY), after(charge, 35 * HOUR), after(charge, 36 * HOUR)]).toStrictEqual([25 * HOUR, 36 * HOUR, null])
    expect([isOverdue(charge, NOON + 36 * HOUR - 1), isOverdue(charge, NOON + 36 * HOUR)]).toStrictEqual([false, true])
    const prompt = collection({ payableUntil: NOON + 3 * MINUTE })
    expect([isOverdue(prompt, NOON + DAY - 1), isOverdue(prompt, NOON + DAY), after(prompt, DAY)]).toStrictEqual([
      false,
      true,
      null
    ])
  })

  it("is heard of where its provider says until when, and keeps that while nothing is learnt", () => {
    const at = NOON + HOUR
    const heard = countPoll(collection(), collection(), left(at), polledAt(at))
    expect(heard).toMatchObject({ payableUntil })
    const silence = { _tag: "Unknown", reason: "timeout", note: "" } as const
    expect(countPoll(heard, heard, silence, polledAt(at))).toMatchObject({ payableUntil })
    const ended = collection({ status: "expired", completedAt: NOON })
    expect(countPoll(ended, ended, left(at), polledAt(at))).not.toHaveProperty("payableUntil")
  })

  it("expires whatever outage its provider has when that is over, and nobody reviews it", () => {
    fc.assert(
      fc.property(fc.integer({ min: HOUR, max: 30 * HOUR }), fc.integer({ min: 0, max: 11 * HOUR - 1 }), (from, lengthMs) => {
        let record: Transaction = collection()
        for (let at: number | null = NOON + 15 * SECOND; at !== null; at = nextPoll(record, schedule, at)) {
          const isOut = at >= NOON + from && at < NOON + from + lengthMs
          const fact = isOut ? ({ _tag: "Unknown", reason: "timeout", note: "" } as const) : left(at)
          const proven = provenFact(record, fact, polledAt(at))
          if (proven._tag === "Expired") return at >= payableUntil
          record = countPoll(record, record, proven, polledAt(at))
          expect(isOverdue(record, at)).toBe(false)
        }
        return false
      })
    )
  })
})
