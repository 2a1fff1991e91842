import { describe, expect, it } from "vitest"
import type { Fact } from "../../src/domain/Fact.ts"
import { minor } from "../../src/domain/Money.ts"
import { decide } from "../../src/domain/Moves.ts"
import type { Payment } from "../../src/domain/Payment.ts"
import { nextPoll } from "../../src/domain/PollSchedule.ts"
import { facts, TOLD_AT } from "../support/SampleFacts.ts"
import { NOON, payout } from "../support/SampleTransactions.ts"

const HOUR = 3_600_000

describe("a payout that is returned", () => {
  it("gives the amount back once", () => {
    const first = decide(payout({ status: "successful" }), facts(10_000n).Returned, "reconciler", TOLD_AT)
    expect(first.entry?.phase).toBe("return")
    expect(decide(first.next, facts(10_000n).Returned, "callback", TOLD_AT).entry).toBeNull()
  })

  it("gives nothing back in another currency, and opens a review", () => {
    const { entry, next } = decide(
      payout({ status: "successful" }),
      { ...facts(10_000n).Returned, currency: "KES" },
      "reconciler",
      TOLD_AT
    )
    expect([entry, next.needsReview]).toStrictEqual([null, true])
  })

  it("books no return of nothing: a person looks, and the later return of the money is booked", () => {
    const nothing = { ...facts(10_000n).Returned, amount: minor(0n), fee: minor(0n) }
    const { entry, next } = decide(payout({ status: "successful" }), nothing, "reconciler", TOLD_AT)
    expect([entry, next.needsReview, next.kind === "payout" && next.returned]).toStrictEqual([null, true, null])
    expect(decide(next, facts(10_000n).Returned, "reconciler", TOLD_AT).entry?.phase).toBe("return")
  })

  describe("a payout that is returned in part", () => {
    const returned = (amount: bigint, at = TOLD_AT, fee = 0n) =>
      ({ ...facts(amount).Returned, at, fee: minor(fee) }) as const satisfies Fact
    const { next: partly } = decide(payout({ status: "successful", completedAt: NOON }), returned(4_000n), "reconciler", TOLD_AT)
    const heard = (fact: Fact) => {
      const { entry, next } = decide(partly, fact, "reconciler", TOLD_AT + 1)
      return [entry, next.needsReview]
    }

    it("books that part once, however often it is reported", () => {
      expect(partly).toMatchObject({ returned: { amount: 4_000n }, needsReview: false })
      expect(heard(returned(4_000n))).toStrictEqual([null, false])
    })

    it.each([
      ["all of it in one sum", returned(10_000n)],
      ["the rest by itself", returned(6_000n)],
      ["as much once more", returned(4_000n, TOLD_AT + 60_000)],
      ["its fee", returned(4_000n, TOLD_AT, 500n)],
      ["less", returned(3_000n)]
    ])("opens a review when the provider then reports the return of %s", (_, fact) => {
      expect(heard(fact)).toStrictEqual([null, true])
    })

    it("is asked about until nothing more can come back", () => {
      const at = (given: Payment, asked: number) => nextPoll({ ...given, asked }, { open: [60_000] }, TOLD_AT)
      const { next: whole } = decide(
        payout({ status: "successful", completedAt: NOON }),
        returned(10_000n),
        "reconciler",
        TOLD_AT
      )
      expect([at(partly, 0), at(partly, 1), at(partly, 3)]).toStrictEqual([NOON + HOUR, NOON + 24 * HOUR, null])
      expect(at(whole, 0)).toBe(null)
      // A fee that came back with a part is none of what was sent.
      const sent = payout({ status: "successful", fees: minor(700n), completedAt: NOON })
      const { next: withFee } = decide(sent, returned(9_500n, TOLD_AT, 500n), "reconciler", TOLD_AT)
      expect(withFee).toMatchObject({ returned: { amount: 10_000n, fee: 500n } })
      expect(at(withFee, 0)).toBe(NOON + HOUR)
    })
  })

  // Of a payout of 10,000 that cost 700, at most 10,700 can come back.
  it.each([
    ["all of it", 10_700n, { amount: 10_000n, fee: 700n }, true],
    ["all of it, in other words", 10_700n, { amount: 10_000n, fee: 0n }, true],
    ["more than can come back", 10_700n, { amount: 10_000n, fee: 701n }, false],
    ["the amount without the fee", 10_000n, { amount: 10_000n, fee: 0n }, true],
    ["less than the amount that was booked", 10_000n, { amount: 9_000n, fee: 0n }, false],
    ["the same part, and twice that much cannot come back", 5_351n, { amount: 5_000n, fee: 351n }, true],
    ["the same part, and twice that much is all of it", 5_350n, { amount: 5_000n, fee: 350n }, false]
  ])("takes a later report of %s, where %d were booked, for the same money or for news", (_, booked, reported, isSame) => {
    const returned = { amount: minor(booked), at: TOLD_AT, reason: "" }
    const fact = { ...facts(reported.amount).Returned, fee: minor(reported.fee), at: TOLD_AT + HOUR }
    const given = payout({ status: "successful", fees: minor(700n), returned })
    const { entry, next } = decide(given, fact, "callback", TOLD_AT + HOUR)
    expect([entry, next.needsReview]).toStrictEqual([null, !isSame])
  })

  it.each([
    ["all of its amount and its fee", 700n, { amount: 10_000n, fee: 700n }, true],
    ["more than its amount", 700n, { amount: 10_001n, fee: 0n }, false],
    ["more than its fee", 700n, { amount: 10_000n, fee: 701n }, false],
    ["its amount, where its fee is not known", null, { amount: 10_000n, fee: 0n }, true],
    ["a fee, where none is known", null, { amount: 10_000n, fee: 1n }, false]
  ])("books the first report, and opens a review of one that cannot be: %s", (_, fees, { amount, fee }, isBooked) => {
    const given = payout({ status: "successful", fees: fees === null ? null : minor(fees) })
    const { entry, next } = decide(given, { ...facts(amount).Returned, fee: minor(fee) }, "reconciler", TOLD_AT)
    expect([entry?.phase ?? null, next.needsReview]).toStrictEqual(isBooked ? ["return", false] : [null, true])
  })

  it.each([
    ["comes back with all of a payout", 10_000n, { feeReturns: true, fees: minor(700n) }, 700n],
    ["stays with the provider where a part comes back", 4_000n, { feeReturns: true, fees: minor(700n) }, 0n],
    ["is nothing where it cost nothing that we know of", 10_000n, { feeReturns: true, fees: null }, 0n],
    ["stays where the contract does not return it", 10_000n, { fees: minor(700n) }, 0n]
  ] as const)("has a fee that by the contract %s, whatever the provider says of it", (_, amount, terms, fee) => {
    const given = payout({ status: "successful", ...terms })
    const { entry, next } = decide(given, facts(amount).Returned, "reconciler", TOLD_AT)
    const back = amount + fee
    expect(next.kind === "payout" && [next.returned?.amount, next.returned?.fee ?? 0n]).toStrictEqual([back, fee])
    expect(entry?.postings).toContainEqual({ account: "available", currency: "UGX", amount: back })
  })

  it("is known to be the return that was booked where no fee is known, too", () => {
    const { next } = decide(payout({ status: "successful", fees: null }), facts(10_000n).Returned, "reconciler", TOLD_AT)
    expect(decide(next, facts(10_000n).Returned, "callback", TOLD_AT + HOUR).next.needsReview).toBe(false)
  })

  it("treats a full return as the same news whatever time it names", () => {
    const { next: back } = decide(payout({ status: "successful" }), facts(10_000n).Returned, "reconciler", TOLD_AT)
    const again = { ...facts(10_000n).Returned, at: TOLD_AT + HOUR }
    expect(decide(back, again, "callback", TOLD_AT + HOUR).next.needsReview).toBe(false)
  })
})
