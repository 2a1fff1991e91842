import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import type { Resolution } from "../../../src/domain/Resolution.ts"
import type { Transaction } from "../../../src/domain/Transaction.ts"
import type { AuditEntry } from "../../../src/services/ports/AuditLog.ts"
import { type NotResolved, Review } from "../../../src/services/settlement/Review.ts"
import { cases } from "../../support/ReviewCases.ts"
import { TOLD_AT } from "../../support/SampleFacts.ts"
import { givenTelemetry } from "../../support/Telemetry.ts"
import { type Obstacle, storedRecord } from "./StoredRecord.ts"

export const open = cases["pending payout"]
export const { reference } = open
export const audit: AuditEntry = { at: TOLD_AT, actor: "jane", action: "review resolve", subject: reference, details: {} }
export const ruling = (outcome: Resolution["outcome"], more: Partial<Resolution> = {}): Resolution => ({
  outcome,
  amount: null,
  fee: null,
  evidence: "their statement",
  ...more
})

export const refusalOf = (resolved: Effect.Effect<unknown, NotResolved>) =>
  Effect.map(Effect.flip(resolved), ({ _tag, message }) => [_tag, message] as const)

/** A record, and a person who rules on it a minute after it was made. */
export const given = (
  record: Transaction,
  obstacles: ReadonlyArray<Obstacle> = [],
  reads: Parameters<typeof storedRecord>[2] = {}
) => {
  const kept = storedRecord(record, obstacles, reads)
  const telemetry = givenTelemetry()
  const layer = Layer.merge(Layer.provide(Review.layer, kept.ports), telemetry.layer)
  const resolve = (resolution: Resolution, seen?: bigint | null, about = reference) =>
    Effect.gen(function* () {
      yield* TestClock.setTime(TOLD_AT)
      return yield* (yield* Review).resolve(about, resolution, audit, seen)
    }).pipe(Effect.provide(layer))
  return { ...kept, ...telemetry, resolve }
}
