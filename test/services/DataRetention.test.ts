import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Layer, Logger, Option, References } from "effect"
import { TestClock } from "effect/testing"
import { dataRetention } from "../../src/services/DataRetention.ts"
import { ClockWatch } from "../../src/services/ports/ClockWatch.ts"
import { Idempotency } from "../../src/services/ports/Idempotency.ts"
import { Nonces } from "../../src/services/ports/Nonces.ts"
import { type PartitionChange, Partitions } from "../../src/services/ports/Partitions.ts"
import { PartyHashRetention } from "../../src/services/ports/PartyHashRetention.ts"
import { PeriodCounts } from "../../src/services/ports/PeriodCounts.ts"
import { Proposals } from "../../src/services/ports/Proposals.ts"
import { ProviderInbox } from "../../src/services/ports/ProviderInbox.ts"
import { ProviderMemory } from "../../src/services/ports/ProviderMemory.ts"
import { Reconciliations } from "../../src/services/ports/Reconciliations.ts"
import { RouteCounts } from "../../src/services/ports/RouteCounts.ts"
import { TenantChanges } from "../../src/services/ports/TenantChanges.ts"
import { VelocityLimits } from "../../src/services/ports/VelocityLimits.ts"
import { WebhookDeliveries } from "../../src/services/ports/WebhookDeliveries.ts"
import { WebhookEndpoints } from "../../src/services/ports/WebhookEndpoints.ts"
import { fake } from "../fakes/Fake.ts"

const DAY_MS = 24 * 3_600_000
const NOW = Date.UTC(2026, 10, 21)

/**
 * Data retention over ports that write down how old what they remove is, in days, and which steps came after each other; `retire` answers one
 * look after another, and of nonces and windows so many are left.
 */
const given = (
  retire: (look: number) => ReadonlyArray<PartitionChange> = () => [],
  left: { nonces: number; windows: number } = { nonces: 0, windows: 0 }
) => {
  const clock = { isInDoubt: false, looks: 0 }
  const swept: Record<string, number> = {}
  const steps: Array<string> = []
  const lines: Array<readonly [message: string, partition: unknown]> = []
  let looks = 0
  const noted = <A>(what: string, before: number, answer: A) =>
    Effect.sync(() => {
      swept[what] = (NOW + 30_000 - before) / DAY_MS
      return answer
    })
  const removed = (what: keyof typeof left, limit: number) =>
    Effect.sync(() => {
      const rows = Math.min(limit, left[what])
      left[what] -= rows
      steps.push(`${what} ${rows}`)
      return rows
    })
  const ports = Layer.mergeAll(
    fake(ClockWatch, {
      look: Effect.suspend(() => {
        clock.looks++
        return clock.isInDoubt ? Effect.succeedNone : Effect.map(Clock.currentTimeMillis, Option.some)
      })
    }),
    fake(Nonces, { prune: (now, limit) => Effect.andThen(noted("nonces", now, 0), removed("nonces", limit)) }),
    fake(Idempotency, { prune: (before) => noted("keys", before, 0) }),
    fake(VelocityLimits, {
      prune: (before, limit) => Effect.andThen(noted("windows", before, 0), removed("windows", limit))
    }),
    fake(PartyHashRetention, { prune: (before) => noted("hashes of phone numbers", before, 0) }),
    fake(Reconciliations, { prune: (before) => noted("results of reconciliation", before, 0) }),
    fake(PeriodCounts, { prune: (before) => noted("counts of periods", before, 0) }),
    fake(RouteCounts, { prune: (before) => noted("counts of routes", before, 0) }),
    fake(ProviderInbox, { prune: (before) => noted("callbacks", before, 0) }),
    fake(ProviderMemory, { prune: (before) => noted("what providers' adapters shared", before, 0) }),
    fake(Proposals, { expire: (at) => noted("proposals", at, 0) }),
    fake(WebhookEndpoints, { forgetOldSecrets: (before) => noted("webhook secrets", before, 0) }),
    fake(TenantChanges, { prune: (before) => noted("tenants' changes", before, 0) }),
    fake(WebhookDeliveries, { purge: (before) => noted("events", before, { removed: 0, next: null }) }),
    fake(Partitions, {
      prepare: () => Effect.sync(() => void steps.push("months ahead")).pipe(Effect.as([])),
      retire: (before) => Effect.flatMap(noted("months of events", before, null), () => Effect.sync(() => retire(++looks)))
    }),
    Logger.layer([
      Logger.make(({ fiber, message }) => {
        lines.push([String(message), fiber.getRef(References.CurrentLogAnnotations)["partition"]])
      })
    ])
  )
  const run = TestClock.setTime(NOW).pipe(Effect.andThen(Effect.forkScoped(dataRetention)), Effect.provide(ports))
  const sweepsOf = () => steps.filter((step) => step !== "months ahead")
  return { run, clock, swept, steps, sweepsOf, left, lines, looks: () => looks }
}

describe("data retention", () => {
  it.effect("keeps every kind of row for the promised number of days, and no longer", () =>
    Effect.gen(function* () {
      const { lines, run, swept } = given()
      yield* run
      yield* TestClock.adjust("30 seconds")
      expect(swept).toEqual({
        "months of events": 31,
        events: 62,
        "counts of periods": 8,
        "counts of routes": 2,
        nonces: 0,
        // They end by their own time, which each kind has.
        proposals: 0,
        "webhook secrets": 0,
        keys: 90,
        callbacks: 90,
        "hashes of phone numbers": 90,
        "tenants' changes": 400,
        "results of reconciliation": 90,
        "what providers' adapters shared": 0,
        windows: 8
      })
      expect(lines).toEqual([])
    })
  )

  it.effect("removes rows in small steps while there are more, each kind in turn", () =>
    Effect.gen(function* () {
      const { left, run, sweepsOf } = given(() => [], { nonces: 2_500, windows: 3_000 })
      yield* run
      yield* TestClock.adjust("35 seconds")
      expect(sweepsOf()).toEqual([
        "nonces 1000",
        "windows 1000",
        "nonces 1000",
        "windows 1000",
        "nonces 500",
        "windows 1000",
        "windows 0"
      ])
      expect(left).toEqual({ nonces: 0, windows: 0 })
    })
  )

  it.effect("pauses after each full step, and bounds the length of a round", () =>
    Effect.gen(function* () {
      const { left, looks, run, sweepsOf } = given(() => [], { nonces: 1_000_000, windows: 0 })
      yield* run
      yield* TestClock.adjust("30 seconds")
      expect(sweepsOf()).toEqual(["nonces 1000"])
      yield* TestClock.adjust("50 millis")
      expect(sweepsOf()).toEqual(["nonces 1000", "windows 0", "nonces 1000"])
      yield* TestClock.adjust("20 seconds")
      expect([left.nonces, looks()]).toEqual([800_000, 1])
    })
  )

  it.effect(
    "removes and retires nothing while the clock is in doubt, goes on making months ahead, and stops within a round",
    () =>
      Effect.gen(function* () {
        const { clock, left, looks, run, steps, swept } = given(() => [], { nonces: 1_500, windows: 5 })
        clock.isInDoubt = true
        yield* run
        yield* TestClock.adjust("2 minutes")
        expect([swept, left, looks(), new Set(steps)]).toEqual([{}, { nonces: 1_500, windows: 5 }, 0, new Set(["months ahead"])])
        clock.isInDoubt = false
        yield* TestClock.adjust("30 seconds")
        expect([left, looks()]).toEqual([{ nonces: 500, windows: 5 }, 1])
        // It pauses before its next step, and asks again.
        clock.isInDoubt = true
        yield* TestClock.adjust("20 seconds")
        expect(left).toEqual({ nonces: 500, windows: 5 })
      })
  )

  it.effect("logs once what cannot be retired, and again when that changes", () =>
    Effect.gen(function* () {
      const crowded = (partition: string) => ({ partition, outcome: "crowded" }) as const
      const { lines, looks, run } = given((look) => [crowded(look < 3 ? "events_202601" : "events_202602")])
      yield* run
      yield* TestClock.adjust("150 minutes")
      const told = "partitions too large to create or retire"
      expect([looks(), lines]).toEqual([
        3,
        [
          [told, "events_202601"],
          [told, "events_202602"]
        ]
      ])
    })
  )
})
