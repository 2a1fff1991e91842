import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { Idempotency } from "../../src/services/ports/Idempotency.ts"
import { Limits } from "../../src/services/ports/Limits.ts"
import { Nonces } from "../../src/services/ports/Nonces.ts"
import { Partitions, type Upkeep } from "../../src/services/ports/Partitions.ts"
import { PartyHashes } from "../../src/services/ports/PartyHashes.ts"
import { ProviderInbox } from "../../src/services/ports/ProviderInbox.ts"
import { WebhookDeliveries } from "../../src/services/ports/WebhookDeliveries.ts"
import { sweeping } from "../../src/services/Sweeper.ts"

const DAY_MS = 24 * 3_600_000
const NOW = Date.UTC(2026, 10, 21)

/** The sweeper over ports that write down how old what they remove is, in days; `retire` answers one look after another. */
const given = (retire: (look: number) => ReadonlyArray<Upkeep> = () => []) => {
  const swept: Record<string, number> = {}
  const lines: Array<string> = []
  let looks = 0
  const noted = <A>(what: string, before: number, answer: A) =>
    Effect.sync(() => {
      swept[what] = (NOW + 30_000 - before) / DAY_MS
      return answer
    })
  const ports = Layer.mergeAll(
    Layer.mock(Nonces, { sweep: (now) => noted("nonces", now, 0) }),
    Layer.mock(Idempotency, { sweep: (before) => noted("keys", before, 0) }),
    Layer.mock(Limits, { sweep: (before) => noted("windows", before, 0) }),
    Layer.mock(PartyHashes, { forget: (before) => noted("hashes of numbers", before, 0) }),
    Layer.mock(ProviderInbox, { sweep: (before) => noted("callbacks", before, 0) }),
    Layer.mock(WebhookDeliveries, { purge: (before) => noted("events", before, { removed: 0, next: null }) }),
    Layer.mock(Partitions, {
      prepare: () => Effect.succeed([]),
      retire: (before) => Effect.flatMap(noted("months of events", before, null), () => Effect.sync(() => retire(++looks)))
    }),
    Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
  )
  const run = TestClock.setTime(NOW).pipe(Effect.andThen(Effect.forkScoped(sweeping)), Effect.provide(ports))
  return { run, swept, lines, looks: () => looks }
}

describe("the sweeper", () => {
  it.effect("keeps each thing for as many days as is promised, and no longer", () =>
    Effect.gen(function* () {
      const { lines, run, swept } = given()
      yield* run
      yield* TestClock.adjust("30 seconds")
      expect(swept).toEqual({
        "months of events": 31,
        events: 31,
        nonces: 0,
        keys: 90,
        callbacks: 90,
        "hashes of numbers": 90,
        windows: 8
      })
      expect(lines).toEqual([])
    })
  )

  it.effect("tells once what cannot be retired, and again when it is something else", () =>
    Effect.gen(function* () {
      const crowded = (partition: string) => ({ partition, outcome: "crowded" }) as const
      const { lines, looks, run } = given((look) => [crowded(look < 3 ? "events_202601" : "events_202602")])
      yield* run
      yield* TestClock.adjust("150 minutes")
      const told = "too many rows for these partitions to be made or retired:"
      expect([looks(), lines]).toEqual([3, [`${told} events_202601`, `${told} events_202602`]])
    })
  )
})
