import { expect, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { TestClock } from "effect/testing"
import { callback, ingress, newWorld } from "./ProviderCallbacksFixture.ts"

const given = Effect.gen(function* () {
  const world = newWorld()
  world.unmatchedCallbacks = { count: 1, windowMs: 60_000, burst: 2 }
  const { receive, round } = yield* ingress(world)
  let sent = 0
  const junk = (provider = "eversend") =>
    receive(provider, "route-key", callback({ providerReference: `nobody-${sent++}` })).pipe(
      Effect.catchTag("rate_limited", ({ retry_after_seconds, scope }) => Effect.succeed([scope, retry_after_seconds]))
    )
  const genuine = () =>
    receive("eversend", "route-key", callback({ reference: world.transaction.reference, providerReference: `ours-${sent++}` }))
  const refused = Effect.map(Metric.snapshot, (metrics) =>
    metrics
      .filter(({ id, state }) => id === "gateway_callbacks_unmatched_refused_total" && "count" in state && state.count !== 0)
      .map(({ attributes, state }) => [attributes, state])
  )
  return { world, round, junk, genuine, refused }
})

it.effect(
  "stores no more callbacks that match nothing than their account may send, and every one that matches, and the neighbours'",
  () =>
    Effect.gen(function* () {
      const { genuine, junk, refused, round } = yield* given
      expect(yield* junk()).toBe("stored")
      yield* round
      expect([yield* junk(), yield* junk(), yield* junk()]).toEqual(["stored", "stored", ["server", 60]])
      expect([yield* genuine(), yield* genuine(), yield* genuine()]).toEqual(["stored", "stored", "stored"])
      expect([yield* junk("neighbour"), yield* junk("neighbour"), yield* junk("neighbour")]).toEqual([
        "stored",
        "stored",
        "stored"
      ])
      expect(yield* refused).toEqual([
        [
          { provider: "eversend", mode: "test" },
          { count: 1, incremental: true }
        ]
      ])
      yield* TestClock.adjust("1 minute")
      expect([yield* junk(), yield* junk()]).toEqual(["stored", ["server", 60]])
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
)

it.effect("looks none up before it is stored while none has matched nothing, and stores what cannot be looked up", () =>
  Effect.gen(function* () {
    const { genuine, junk, round, world } = yield* given
    yield* genuine()
    expect(world.calls).toEqual(["store"])
    yield* junk()
    yield* round
    yield* junk()
    yield* junk()
    expect(yield* junk()).toEqual(["server", 60])
    world.unread = Effect.die("no connection")
    expect(yield* genuine()).toBe("stored")
    // Long after the last one nobody looks any more.
    yield* TestClock.adjust("11 minutes")
    world.calls.length = 0
    yield* genuine()
    expect(world.calls).toEqual(["store"])
  })
)
