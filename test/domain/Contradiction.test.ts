import { describe, expect, it } from "vitest"
import { afterRuling, sentToReview, withReport } from "../../src/domain/Contradiction.ts"
import type { Fact } from "../../src/domain/Fact.ts"
import { type MinorUnits, minor } from "../../src/domain/Money.ts"
import { decide } from "../../src/domain/Moves.ts"
import type { Payment } from "../../src/domain/Payment.ts"
import { nextPoll } from "../../src/domain/PollSchedule.ts"
import type { Transaction } from "../../src/domain/Transaction.ts"
import { type Any, cases, ruled, told } from "../support/ReviewCases.ts"
import { factNames, facts, TOLD_AT } from "../support/SampleFacts.ts"
import { collection, NOON, payout } from "../support/SampleTransactions.ts"

const HOUR = 3_600_000

const keysOf = <T extends object>(table: T): ReadonlyArray<keyof T & string> =>
  Object.keys(table).filter((key): key is keyof T & string => key in table)
const outcomes = ["successful", "failed"] as const
const rulings = keysOf(cases).flatMap((name) => outcomes.map((outcome) => [name, outcome] as const))

/** What a provider could say: each fact with the record's figures, and with others. */
const words: Readonly<Record<string, Fact>> = {
  ...facts(10_000n),
  "Succeeded with another amount": facts(9_000n).Succeeded,
  "Returned, more than was sent": facts(12_000n).Returned
}

// Which words a person did not know bring a ruled record back, written by hand. A word that settles a record by itself is not among them: a
// collection that failed or expired is credited, and a payout's return is booked.
const denied = ["Refused"]
const otherFigures = ["Succeeded with another amount"]
const underWay = ["Accepted", "StillPending"]
const tooMuch = ["Returned, more than was sent"]
const anySuccess = ["Succeeded", ...otherFigures]
const anyReturn = ["Returned", ...tooMuch]
/** A dispute, or a refund made at the provider. */
const takenBack = [...anyReturn, "Clawback"]
const reopening: { readonly [C in keyof typeof cases]: { readonly [O in (typeof outcomes)[number]]: ReadonlyArray<string> } } = {
  "pending payout": { successful: [...denied, ...otherFigures, "FeeStated", ...tooMuch], failed: [...anySuccess, ...underWay] },
  "successful payout": { successful: [...denied, ...otherFigures, "FeeStated", ...tooMuch], failed: [...anySuccess, ...tooMuch] },
  "failed payout": { successful: [...denied, ...otherFigures, "FeeStated", ...tooMuch], failed: anySuccess },
  "unsent payout": { successful: [...denied, ...otherFigures, "FeeStated", ...tooMuch], failed: [...anySuccess, ...underWay] },
  "pending collection": {
    successful: [...denied, ...otherFigures, "FeeStated", ...takenBack],
    failed: [...otherFigures, ...underWay, "NeedsRedirect"]
  },
  "successful collection": { successful: [...denied, ...otherFigures, "FeeStated", ...takenBack], failed: anySuccess },
  "failed collection": { successful: [...denied, ...otherFigures, "FeeStated", ...takenBack], failed: otherFigures },
  "unsent collection": {
    successful: [...denied, ...otherFigures, "FeeStated", ...takenBack],
    failed: [...otherFigures, ...underWay, "NeedsRedirect"]
  },
  "expired collection": { successful: [...denied, ...otherFigures, "FeeStated", ...takenBack], failed: otherFigures },
  "pending exchange": { successful: [...denied, ...otherFigures, ...anyReturn], failed: [...anySuccess, ...underWay] },
  "successful exchange": { successful: [...denied, ...otherFigures, ...anyReturn], failed: [...anySuccess, ...underWay] },
  "failed exchange": { successful: [...denied, ...otherFigures, ...anyReturn], failed: anySuccess },
  "unsent exchange": { successful: [...denied, ...otherFigures, ...anyReturn], failed: [...anySuccess, ...underWay] }
}

describe("what the provider says after a person's ruling", () => {
  it.each(rulings)("reopens a %s ruled %s for a contradiction that nobody had said before", (name, outcome) => {
    const record = ruled(cases[name], outcome)
    const back = keysOf(words).filter((word) => {
      const fact = words[word]
      return fact !== undefined && told(record, fact).next.needsReview
    })
    expect(back.toSorted()).toStrictEqual(reopening[name][outcome].toSorted())
  })

  it.each(rulings)(
    "does not reopen a %s ruled %s for anything that was said before the ruling, however often it is repeated",
    (name, outcome) => {
      for (const [word, fact] of Object.entries(words)) {
        const heard = told({ ...cases[name], needsReview: false }, fact)
        // It settled the case by itself, or there is nothing to repeat.
        if (!heard.next.needsReview) continue
        let record = ruled(heard.next, outcome)
        const { version } = record
        for (let time = 0; time < 3; time++) {
          const again = told(record, fact)
          record = again.next
          expect([word, record.needsReview]).toStrictEqual([word, false])
          if (!reopening[name][outcome].includes(word)) continue
          expect([word, again.entry, again.event, record.version]).toStrictEqual([word, null, null, version])
        }
      }
    }
  )

  it("makes a record that the provider settles itself as if nobody had ruled", () => {
    const failed = ruled(cases["pending collection"], "failed")
    const late = told(failed, facts(10_000n).Succeeded).next
    expect(late).toMatchObject({ status: "successful", lateSuccess: true, needsReview: false })
    expect(told(late, facts(10_000n).Succeeded).next.needsReview).toBe(false)
    expect(told(late, facts(10_000n).Refused).next.needsReview).toBe(true)
  })

  it.each(rulings)("schedules no late question at once for a %s ruled %s", (name, outcome) => {
    // Five hours after it was closed, one late question was put.
    const at = NOON + 5 * HOUR
    const record = ruled({ ...cases[name], asked: 1 }, outcome, at)
    const next = nextPoll(record, { open: [60_000] }, at)
    expect(next === null || next > at).toBe(true)
  })

  it("asks about a payout ruled successful as late as about any other", () => {
    const at = NOON + 5 * HOUR
    const { asked, completedAt } = ruled({ ...cases["failed payout"], asked: 1 }, "successful", at)
    expect([asked, completedAt]).toStrictEqual([0, at])
  })
})

describe("what a ruling knows", () => {
  const said = (amount: string) => [`succeeded ${amount} UGX`, `succeeded ${amount} ?`]
  const unnamed = [...said("?")]
  const knownOf = (record: Transaction, found: MinorUnits | null = null) => afterRuling(record, "successful", found).ruling.known

  it.each<readonly [what: string, record: Transaction, found: bigint | null, amount: string]>([
    ["a payout's principal", payout({ amount: minor(12_000n) }), null, "10000"],
    ["the amount that the person found of a payout", payout(), 9_000n, "9000"],
    ["a collection's amount", collection(), null, "50000"],
    ["what was observed of a collection", collection({ observedAmount: minor(40_000n), observedCurrency: "UGX" }), null, "40000"],
    ["the amount that the person found of a collection", collection({ observedAmount: minor(40_000n) }), 30_000n, "30000"]
  ])("are the reports of %s, of no amount and of no currency, as far as they were said", (_, record, found, amount) => {
    const agreeing = [...said(amount), ...unnamed]
    const heard = { ...record, said: [...agreeing, "succeeded 1 UGX", "under way", "failed"] }
    expect(knownOf(heard, found === null ? null : minor(found))).toStrictEqual(agreeing)
    expect(knownOf(record, found === null ? null : minor(found))).toStrictEqual([])
  })

  it("are at most sixteen reports, the newest", () => {
    const numbered = (from: number) => Array.from({ length: 16 }, (_, at) => `returned ${from + at} UGX, fee 0`)
    const record = payout({ saidAtOpening: numbered(100), ruling: { outcome: "failed", known: numbered(1) } })
    expect(knownOf(record)).toStrictEqual(numbered(100))
  })

  it("keeps the fee that a statement named, which is no news any more, and beside which the rest is as without it", () => {
    const { FeeStated, Succeeded } = facts(10_000n)
    const stated = told(payout({ status: "successful", fees: minor(1_000n) }), FeeStated).next
    expect(stated).toMatchObject({ needsReview: true, reported: { amount: 10_000n, fee: 800n }, saidAtOpening: ["fee 800"] })
    const kept = told(ruled(stated, "successful"), Succeeded).next
    expect(told(kept, FeeStated).next.needsReview).toBe(false)
    expect(told(kept, { ...FeeStated, fee: minor(801n) }).next.needsReview).toBe(true)
    const back = ["returned 10000 UGX, fee 0", ...said("10000").slice(0, 1)]
    const known = (more: ReadonlyArray<string>) =>
      knownOf(payout({ status: "successful", said: [...back, ...more], saidAtOpening: back }))
    expect(known(["fee 800"])).toStrictEqual(known([]))
  })

  it("loses what contradicts it once the provider agrees, and keeps what agrees", () => {
    const ruling = { outcome: "successful", known: ["failed", ...said("10000")] } as const
    const record = payout({ status: "successful", said: [], ruling })
    expect(told(record, facts(10_000n).Succeeded).next.ruling?.known).toStrictEqual(said("10000"))
  })
})

describe("the list of answers that contradicted a record", () => {
  it("is bounded, whatever a provider says", () => {
    let record: Any = payout()
    for (let amount = 1n; amount < 100n; amount++) record = told(record, facts(amount).Succeeded).next
    expect(record.said?.length).toBe(16)
    for (const name of factNames) record = told(record, facts(10_000n)[name]).next
    expect((record.said ?? []).length).toBeLessThanOrEqual(16)
  })

  it("begins anew where the status becomes final, also by what is no report", () => {
    const said = ["under way"]
    const unsent = facts(10_000n).NotSent
    const ended = withReport(payout({ said }), payout({ said, status: "failed" }), unsent)
    expect(ended).toMatchObject({ said: [], saidAtOpening: [], ruling: null })
    expect(withReport(payout(), payout({ status: "failed" }), unsent)).not.toHaveProperty("said")
  })

  it("is empty when a review opens before anything was said", () => {
    const asked = facts(10_000n).NotFound
    expect(withReport(payout(), payout({ needsReview: true }), asked).saidAtOpening).toStrictEqual([])
    expect(sentToReview(payout(), TOLD_AT).saidAtOpening).toStrictEqual([])
  })

  it.each(["Accepted", "StillPending"] as const)(
    "opens a review when a transaction that counted as never sent is %s after all, whatever its failure code",
    (name) => {
      for (const given of [payout(), collection()]) {
        const { next: unsent } = decide(given, facts(10_000n).NotSent, "reconciler", TOLD_AT)
        const renamed: Payment = { ...unsent, failure: { code: "unknown", message: "in other words" } }
        const { entry, event, next } = decide(renamed, facts(10_000n)[name], "request", TOLD_AT)
        expect([next.status, next.needsReview, entry, event]).toStrictEqual(["failed", true, null, null])
        const doubted = decide({ ...given, doubtedSince: NOON }, facts(10_000n).Refused, "reconciler", TOLD_AT).next
        expect(decide(doubted, facts(10_000n)[name], "reconciler", TOLD_AT).next.needsReview).toBe(true)
        const { next: refused } = decide(given, facts(10_000n).Refused, "request", TOLD_AT)
        expect(decide({ ...refused, failure: unsent.failure }, facts(10_000n)[name], "callback", TOLD_AT).next.needsReview).toBe(
          false
        )
      }
    }
  )

  it.each([
    ["payout", payout({ status: "successful" }), 10_000n],
    ["collection", collection({ status: "successful", observedAmount: minor(50_000n), observedCurrency: "UGX" }), 50_000n]
  ])("opens a review of a successful %s when the provider later names other figures", (_, given, amount) => {
    const says = (fact: Partial<Extract<Fact, { _tag: "Succeeded" }>>) =>
      decide(given, { ...facts(amount).Succeeded, ...fact }, "callback", TOLD_AT).next.needsReview
    expect([
      says({}),
      says({ amount: null, currency: null }),
      says({ amount: minor(1n) }),
      says({ currency: "KES" })
    ]).toStrictEqual([false, false, true, true])
  })
})
