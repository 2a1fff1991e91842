import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { AccountSweepsPg } from "../../../src/persistence/transactions/AccountSweepsPg.ts"
import { AccountSweeps } from "../../../src/services/ports/AccountSweeps.ts"
import { given } from "../../support/LedgerSteps.ts"
import { NOON } from "../../support/SampleTransactions.ts"

it.live("one process of several looks through an account, and nobody again before it is due", () =>
  Effect.gen(function* () {
    const { node } = yield* given(0n)
    yield* Effect.gen(function* () {
      const { claim, done } = yield* AccountSweeps
      const at = (now: number) => claim("paystack", "live", now, now + 100)
      const all = yield* Effect.all([at(NOON), at(NOON), at(NOON), at(NOON)], { concurrency: "unbounded" })
      expect(all.filter((isTurn) => isTurn)).toHaveLength(1)
      expect([yield* claim("paystack", "test", NOON, NOON + 100), yield* at(NOON + 99)]).toEqual([true, false])
      // The process died: after its lease it is somebody else's turn.
      expect(yield* at(NOON + 100)).toBe(true)
      yield* done("paystack", "live", NOON + 10_000)
      expect([yield* at(NOON + 9_999), yield* at(NOON + 10_000)]).toEqual([false, true])
    }).pipe(Effect.provide(Layer.fresh(AccountSweepsPg)), Effect.provide(node))
  })
)
