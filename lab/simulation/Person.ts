import { Effect } from "effect"
import { minor } from "../../src/domain/Money.ts"
import { auditEntry } from "../../test/support/TestDatabase.ts"
import { feeCharged, type Movement } from "./Movement.ts"
import type { NodeServices } from "./NodeServices.ts"
import type { World } from "./World.ts"

const CASES_AT_MOST = 1_000

/** Somebody with the providers' statements in hand rules on everything that waits for a person; answers how much that was. */
export const rule = Effect.fnUntraced(function* ({ review }: NodeServices, world: World, takesTime: Effect.Effect<void>) {
  const cases = yield* review.cases(CASES_AT_MOST, auditEntry())
  for (const { record } of cases) {
    yield* takesTime
    yield* Effect.orDie(review.resolve(record.reference, rulingOf(world.moved(record.reference)), auditEntry()))
  }
  return cases.length
})

const rulingOf = (movement: Movement | undefined) => {
  const evidence = "the provider's statement"
  if (movement === undefined) return { outcome: "failed" as const, amount: null, fee: null, evidence }
  const { amount, brings, fee, kind } = movement
  return {
    outcome: "successful" as const,
    amount: minor(brings?.amount ?? amount),
    fee: kind === "exchange" ? null : minor(kind === "payout" ? feeCharged(fee) : fee),
    evidence
  }
}
