import { describe, expect, it } from "vitest"
import type { Fact } from "../../src/domain/Fact.ts"
import { minor } from "../../src/domain/Money.ts"
import { decide } from "../../src/domain/Moves.ts"
import { nextPoll } from "../../src/domain/PollSchedule.ts"
import type { Transaction } from "../../src/domain/Transaction.ts"
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
      const at = (given: Transaction, asked: number) => nextPoll({ ...given, asked }, { open: [60_000] }, TOLD_AT)
      const { next: whole } = decide(
        payout({ status: "successful", completedAt: NOON }),
        returned(10_000n),
        "reconciler",
        TOLD_AT
      )
      expect([at(partly, 0), at(partly, 1), at(partly, 3)]).toStrictEqual([NOON + HOUR, NOON + 24 * HOUR, null])
      expect(at(whole, 0)).toBe(null)
    })
  })

  it("treats a full return as the same news whatever time it names", () => {
    const { next: back } = decide(payout({ status: "successful" }), facts(10_000n).Returned, "reconciler", TOLD_AT)
    const again = { ...facts(10_000n).Returned, at: TOLD_AT + HOUR }
    expect(decide(back, again, "callback", TOLD_AT + HOUR).next.needsReview).toBe(false)
  })
})
