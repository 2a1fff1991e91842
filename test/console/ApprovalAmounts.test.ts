import { expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { consoleOf } from "../../src/ConfigConsole.ts"
import { reader } from "../../src/ConfigRules.ts"
import { minor } from "../../src/domain/Money.ts"
import { RandomSourceLive } from "../../src/persistence/vault/RandomSourceLive.ts"
import { ReviewApprovals } from "../../src/services/approvals/ReviewApprovals.ts"
import { Proposals } from "../../src/services/ports/Proposals.ts"
import { Transactions } from "../../src/services/ports/Transactions.ts"
import { Review } from "../../src/services/settlement/Review.ts"
import { fake } from "../fakes/Fake.ts"
import { cases } from "../support/ReviewCases.ts"
import { collection, NOON, payout } from "../support/SampleTransactions.ts"

const SMALL = minor(5_000n)
const { approvalFrom } = consoleOf(reader({}, []), [], [])
const paid = { outcome: "successful", evidence: "statement, line 7", amount: null, fee: null } as const

const desk = Layer.provide(
  ReviewApprovals.layer(approvalFrom),
  Layer.mergeAll(fake(Review, {}), fake(Proposals, {}), fake(Transactions, {}), RandomSourceLive)
)

layer(desk)("a ruling in the console", (it) => {
  it.effect("needs two people where its entry reaches the amount, whatever was asked for", () =>
    Effect.gen(function* () {
      const { needsTwo } = yield* ReviewApprovals
      const limit = approvalFrom.UGX
      const failed = { ...paid, outcome: "failed" } as const
      const observed = (amount: bigint) =>
        ({ amount: SMALL, observedAmount: minor(amount), observedCurrency: "UGX", needsReview: true }) as const
      // A credit of what the provider saw, and its being taken back after it was booked.
      const credit = (amount: bigint) => needsTwo(collection(observed(amount)), paid)
      const reversal = (amount: bigint) =>
        needsTwo(collection({ ...observed(amount), status: "successful", completedAt: NOON }), failed)
      expect([credit(limit - 1n), credit(limit), reversal(limit - 1n), reversal(limit)]).toEqual([false, true, false, true])
      // A fee beyond what was held is drift, and bounded: nothing is posted for a larger one.
      const small = payout({ needsReview: true })
      expect([needsTwo(small, paid), needsTwo(small, { ...paid, fee: minor(limit * 2n) })]).toEqual([false, false])
      // What an exchange brings, in its own currency.
      const pending = cases["pending exchange"]
      const brings = (amount: bigint) => needsTwo({ ...pending, destinationAmount: minor(amount) }, paid)
      expect([brings(approvalFrom.KES - 1n), brings(approvalFrom.KES)]).toEqual([false, true])
      const undone = { ...cases["successful exchange"], destinationAmount: approvalFrom.KES }
      expect([needsTwo(cases["successful exchange"], failed), needsTwo(undone, failed)]).toEqual([false, true])
      // Nothing is posted for what is closed as it was: what was asked for counts.
      expect(needsTwo(collection({ amount: limit, status: "failed", needsReview: true }), failed)).toBe(true)
      // The page asks before anybody said what happened.
      expect(needsTwo(collection(observed(limit)), null)).toBe(true)
    })
  )
})
