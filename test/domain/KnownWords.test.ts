import { describe, expect, it } from "vitest"
import { sentToReview } from "../../src/domain/Contradiction.ts"
import { minor } from "../../src/domain/Money.ts"
import { cases, ruled, told } from "../support/ReviewCases.ts"
import { facts, TOLD_AT } from "../support/SampleFacts.ts"
import { collection, payout } from "../support/SampleTransactions.ts"

const HOUR = 3_600_000

describe("what a person's ruling already took into account", () => {
  it("includes everything that earlier rulings took into account", () => {
    const refused = told({ ...cases["successful payout"], needsReview: false }, facts(10_000n).Refused).next
    const once = ruled(refused, "successful")
    const twice = ruled(told(once, facts(9_000n).Succeeded).next, "successful")
    for (const fact of [facts(10_000n).Refused, facts(9_000n).Succeeded]) expect(told(twice, fact).next.needsReview).toBe(false)
    expect(told(twice, facts(8_000n).Succeeded).next.needsReview).toBe(true)
  })

  it("includes the answer that closed the record", () => {
    // It succeeded by its own word, was refused, and was ruled failed.
    const paid = told(payout(), facts(10_000n).Succeeded).next
    const refused = told(paid, facts(10_000n).Refused).next
    expect(refused.needsReview).toBe(true)
    expect(told(ruled(refused, "failed"), facts(10_000n).Succeeded).next.needsReview).toBe(false)
  })

  it("leaves out a contradiction that came after the case was opened: it reopens the case, once", () => {
    const { Returned, StillPending, Succeeded } = facts(10_000n)
    for (const given of [cases["unsent payout"], cases["unsent exchange"]]) {
      let record = told({ ...given, needsReview: false }, StillPending).next
      expect(record.needsReview).toBe(true)
      record = ruled(told(record, Succeeded).next, "failed")
      expect(told(record, StillPending).next.needsReview).toBe(false)
      record = told(record, Succeeded).next
      expect(record.needsReview).toBe(true)
      record = ruled(record, "failed")
      for (const word of [Succeeded, StillPending]) expect(told(record, word).next.needsReview).toBe(false)
    }
    const refused = told(collection({ ...cases["successful collection"], needsReview: false }), facts(10_000n).Refused).next
    expect(told(ruled(told(refused, Returned).next, "successful"), Returned).next.needsReview).toBe(true)
  })

  it("includes what was said before the questions ended", () => {
    const asked = sentToReview(told(payout(), facts(10_000n).StillPending).next, TOLD_AT)
    expect([asked.needsReview, asked.version]).toStrictEqual([true, payout().version + 1])
    expect(told(ruled(asked, "failed"), facts(10_000n).StillPending).next.needsReview).toBe(false)
    expect(told(ruled(told(asked, facts(10_000n).Succeeded).next, "failed"), facts(10_000n).Succeeded).next).toMatchObject({
      needsReview: true
    })
  })

  it("includes an answer that agrees with it, with the record's amounts and no others", () => {
    const refused = told({ ...cases["successful payout"], needsReview: false }, facts(10_000n).Refused).next
    const heard = [facts(10_000n).Succeeded, facts(9_000n).Succeeded].reduce((record, fact) => told(record, fact).next, refused)
    expect(ruled(heard, "successful").ruling?.known).toStrictEqual(["failed", "succeeded 10000 UGX"])
  })

  it("makes a contradiction news again after an answer that agrees", () => {
    const { Refused, Succeeded } = facts(10_000n)
    let record = ruled(told({ ...cases["failed payout"], needsReview: false }, Succeeded).next, "failed")
    expect(told(record, Succeeded).next.needsReview).toBe(false)
    record = told(record, Refused).next
    expect(record.needsReview).toBe(false)
    expect(told(record, Succeeded).next.needsReview).toBe(true)

    record = ruled(told({ ...cases["successful exchange"], needsReview: false }, Refused).next, "successful")
    const brought = { amount: minor(34_864n), currency: "KES", raw: "348.64" } as const
    expect(told(told(record, { ...Succeeded, exchanged: brought }).next, Refused).next.needsReview).toBe(true)
    const other = told(record, { ...Succeeded, exchanged: { ...brought, amount: minor(1n) } }).next
    expect([other.needsReview, other.ruling?.known]).toStrictEqual([true, ["failed"]])
  })

  it("counts equal partial returns at different times as two answers, and those without a time as one", () => {
    const { Returned } = facts(4_000n)
    const [one, two] = [Returned, { ...Returned, at: TOLD_AT + HOUR }]
    const record = ruled(told({ ...cases["successful collection"], needsReview: false }, one).next, "successful")
    expect([told(record, one).next.needsReview, told(record, two).next.needsReview]).toStrictEqual([false, true])
    const undated = { ...Returned, at: null }
    const known = ruled(told(record, undated).next, "successful")
    expect(told(known, undated).next.needsReview).toBe(false)
  })
})
