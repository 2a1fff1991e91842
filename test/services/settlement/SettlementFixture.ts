import { expect } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import type { Fact } from "../../../src/domain/Fact.ts"
import { Reference } from "../../../src/domain/Ids.ts"
import { minor } from "../../../src/domain/Money.ts"
import type { Transaction } from "../../../src/domain/Transaction.ts"
import type { Claim } from "../../../src/services/ports/Idempotency.ts"
import { type News, Settlement } from "../../../src/services/settlement/Settlement.ts"
import { facts, TOLD_AT } from "../../support/SampleFacts.ts"
import { collection, NOON, payout } from "../../support/SampleTransactions.ts"
import { givenTelemetry } from "../../support/Telemetry.ts"
import { type Obstacle, storedRecord } from "./StoredRecord.ts"

export const said = facts(10_000n)
export const { reference } = payout()
export const EVENT = Reference.make("00000000000000000000000001")
export const claim: Claim = {
  scope: { appId: payout().appId, mode: "live", endpoint: "POST /v1/payouts", key: "one" },
  fence: 7n,
  reference,
  leaseUntil: 0
}
export const raw = { request: "sent", response: "received" }

/** A record, and Settlement over it a minute after it was made. */
export const given = (record: Transaction, obstacles: ReadonlyArray<Obstacle> = []) => {
  const kept = storedRecord(record, obstacles)
  const telemetry = givenTelemetry()
  const layer = Layer.merge(Layer.provide(Settlement.layer, kept.ports), telemetry.layer)
  const told = (news: Omit<News, "reference" | "actor"> & Partial<Pick<News, "reference">>, at = TOLD_AT) =>
    Effect.gen(function* () {
      yield* TestClock.setTime(at)
      return yield* (yield* Settlement).apply({ reference, actor: "callback", ...news })
    }).pipe(Effect.provide(layer))
  const heardFrom = (provider: string, fact: Fact) =>
    Effect.flatMap(Settlement, ({ applyFromProvider }) =>
      applyFromProvider(provider, { reference, fact, actor: "callback" })
    ).pipe(Effect.provide(layer))
  return { ...kept, ...telemetry, told, heardFrom }
}

/** What one fact writes. */
export const written = Effect.fnUntraced(function* (
  record: Transaction,
  news: Parameters<ReturnType<typeof given>["told"]>[0],
  at = TOLD_AT
) {
  const { steps, told } = given(record)
  yield* told(news, at)
  expect(steps).toHaveLength(1)
  const [step] = steps
  return step ?? (yield* Effect.die(new Error("nothing was written")))
})
export const failed = payout({ status: "failed", completedAt: NOON })
export const paid = payout({ status: "successful", completedAt: NOON })
export const collected = collection({ status: "successful", amount: minor(10_000n), completedAt: NOON })
