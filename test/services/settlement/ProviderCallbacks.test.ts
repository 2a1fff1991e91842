import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Metric } from "effect"
import { TestClock } from "effect/testing"
import { pollLeaseMs } from "../../../src/domain/TimeLimits.ts"
import { CALLBACK_RETRY_AGES_MS } from "../../../src/services/settlement/ProviderCallbacks.ts"
import { givenTelemetry } from "../../support/Telemetry.ts"
import { newReference } from "../../support/WebhookReceiver.ts"
import { callback, ingress, newWorld, payout } from "./ProviderCallbacksFixture.ts"

/** Forged callbacks in a flood. */
const FLOOD = 2_000
/** Callbacks about one transaction, fewer than are looked into at once. */
const CROWD = 20

/** A poll that a callback has led to and that has no answer yet, and so many callbacks about the same transaction that wait for it. */
const givenPollUnderWay = Effect.fnUntraced(function* (waiting: number) {
  const world = newWorld()
  const { reference } = world.transaction
  const [answered, begun] = [yield* Deferred.make<boolean>(), yield* Deferred.make<boolean>()]
  world.learns = Effect.andThen(Deferred.succeed(begun, true), Deferred.await(answered))
  const { receive, round } = yield* ingress(world)
  yield* receive("eversend", "route-key", callback({ reference }))
  const first = yield* Effect.forkChild(round)
  yield* Deferred.await(begun)
  const another = (providerReference: string) => receive("eversend", "route-key", callback({ reference, providerReference }))
  for (let each = 0; each < waiting; each++) yield* another(`unknown-${each}`)
  const others = yield* Effect.forkChild(round)
  yield* TestClock.adjust(1)
  return { world, answered, first, others, more: (name: string) => Effect.andThen(another(name), round) }
})

describe("ProviderCallbacks", () => {
  it.effect("answers not_found for an unknown path and unauthorized for a wrong signature, and stores neither", () =>
    Effect.gen(function* () {
      const world = newWorld()
      const { knows, receive } = yield* ingress(world)
      const hint = { reference: world.transaction.reference }
      expect([knows("eversend", "route-key"), knows("eversend", "guess"), knows("other", "route-key")]).toEqual([
        true,
        false,
        false
      ])
      expect((yield* Effect.flip(receive("eversend", "guess", callback(hint))))._tag).toBe("not_found")
      expect((yield* Effect.flip(receive("other", "route-key", callback(hint))))._tag).toBe("not_found")
      expect((yield* Effect.flip(receive("eversend", "route-key", callback(hint, "wrong"))))._tag).toBe("unauthorized")
      expect(world.stored.size).toBe(0)
    })
  )

  it.effect("keeps what a question is answered by before it is stored, and stores no answer: it leads to no record", () =>
    Effect.gen(function* () {
      const world = newWorld()
      const { receive, round } = yield* ingress(world)
      expect(yield* receive("eversend", "route-key", callback({ isAnswer: true }))).toBe("stored")
      expect([world.kept, world.calls]).toEqual([[0], []])
      yield* receive("eversend", "route-key", callback({ reference: world.transaction.reference }))
      expect([world.kept, world.stored.size]).toEqual([[0, 0], 1])
      yield* Effect.flip(receive("eversend", "route-key", callback({ isAnswer: true }, "wrong")))
      yield* round
      expect([world.kept, world.asked]).toEqual([[0, 0], [world.transaction.reference]])
    })
  )

  it.effect("leases a callback for longer than its provider may take to answer", () =>
    Effect.gen(function* () {
      const world = { ...newWorld(), providerTimeoutMs: 100_000 }
      const { receive, round } = yield* ingress(world)
      yield* receive("eversend", "route-key", callback({ reference: world.transaction.reference }))
      yield* round
      expect(Math.min(...world.leases)).toBeGreaterThan(3 * 100_000)
    })
  )

  it.effect("checks the signature of each forged callback in a flood once, and counts it", () =>
    Effect.gen(function* () {
      const world = newWorld()
      const { receive, round } = yield* ingress(world)
      const hint = { reference: world.transaction.reference }
      const one = Effect.flip(receive("eversend", "route-key", callback(hint, "wrong")))
      const refusals = yield* Effect.replicateEffect(one, FLOOD, { concurrency: 16 })
      expect(new Set(refusals.map(({ _tag }) => _tag))).toEqual(new Set(["unauthorized"]))
      expect(world.calls).toEqual([])
      const counter = (yield* Metric.snapshot).find(
        ({ attributes, id }) => id === "gateway_callbacks_refused_total" && attributes?.["mode"] === "test"
      )
      expect([counter?.attributes, counter?.state]).toEqual([
        { provider: "eversend", mode: "test" },
        { count: FLOOD, incremental: true }
      ])
      // Real work goes on as if nothing had come.
      expect(yield* receive("eversend", "route-key", callback(hint))).toBe("stored")
      expect(yield* round).toBe(1)
      expect(world.asked).toEqual([world.transaction.reference])
      yield* receive("eversend", "route-key", callback(hint))
      expect(world.arrivals.filter((one) => one !== "refused")).toEqual(["new", "repeated"])
      const counts = (yield* Metric.snapshot).filter(
        ({ attributes, id }) => id === "gateway_callbacks_total" && attributes?.["mode"] === "test"
      )
      expect(counts.map(({ attributes, state }) => [attributes?.["outcome"], "count" in state && state.count])).toEqual([
        ["new", 1],
        ["repeated", 1],
        ["refused", FLOOD]
      ])
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.effect("keeps what a callback said for a person, with numbers and names masked", () =>
    Effect.gen(function* () {
      const world = newWorld()
      const { receive } = yield* ingress(world)
      const told = { msisdn: "256772123456", customerName: "Jane Doe", note: "call 256772123456", amount: 5000 }
      const body = Buffer.from(JSON.stringify({ reference: world.transaction.reference, providerReference: null, ...told }))
      yield* receive("eversend", "route-key", { ...callback({}), body })
      const [kept = ""] = world.bodies
      expect(JSON.parse(kept)).toMatchObject({ reference: world.transaction.reference, amount: 5000, msisdn: "••••3456" })
      expect(kept).not.toMatch(/772123|Jane/)
    })
  )

  it.effect("takes callbacks by a path that has a newer one, and counts them, so that nobody retires what is still in use", () =>
    Effect.gen(function* () {
      const world = newWorld()
      const { receive } = yield* ingress(world)
      const hint = { reference: world.transaction.reference }
      expect(yield* receive("eversend", "route-key", callback(hint))).toBe("stored")
      const count = Effect.map(Metric.snapshot, (metrics) =>
        metrics
          .filter(({ id }) => id === "gateway_callbacks_by_path_before_total")
          .map(({ attributes, state }) => [attributes, state])
      )
      expect(yield* count).toEqual([])
      yield* Effect.flip(receive("eversend", "key-before", callback(hint, "wrong")))
      expect(yield* receive("eversend", "key-before", callback({ ...hint, providerReference: "two" }))).toBe("stored")
      const { mode } = world.transaction
      expect(yield* count).toEqual([
        [
          { provider: "eversend", mode },
          { count: 1, incremental: true }
        ]
      ])
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.effect("verifies a callback once more after reloading the provider's keys, only when it failed", () =>
    Effect.gen(function* () {
      const world = newWorld()
      let renewed = 0
      world.refreshKeys = Effect.sync(() => {
        renewed += 1
        world.keys.add("new")
      })
      const { receive } = yield* ingress(world)
      const hint = { reference: world.transaction.reference }
      expect(yield* receive("eversend", "route-key", callback(hint))).toBe("stored")
      expect(renewed).toBe(0)
      expect(yield* receive("eversend", "route-key", callback({ providerReference: "ever-1" }, "new"))).toBe("stored")
      expect((yield* Effect.flip(receive("eversend", "route-key", callback(hint, "wrong"))))._tag).toBe("unauthorized")
      expect([renewed, world.stored.size]).toEqual([2, 2])
    })
  )

  it.effect("asks the provider about the transaction that a callback names, and believes nothing else in it", () =>
    Effect.gen(function* () {
      const world = newWorld()
      const { receive, round } = yield* ingress(world)
      expect(yield* receive("eversend", "route-key", callback({ reference: world.transaction.reference }))).toBe("stored")
      expect(yield* round).toBe(1)
      expect(world.asked).toEqual([world.transaction.reference])
      expect(world.actors).toEqual(["callback"])
      expect(world.done).toEqual([world.transaction.reference])
    })
  )

  it.effect("processes a callback at once while it runs, and claims nothing for it", () =>
    Effect.gen(function* () {
      const world = newWorld()
      const asked = yield* Deferred.make<boolean>()
      world.learns = Effect.as(Deferred.succeed(asked, true), true)
      const { receive, run } = yield* ingress(world)
      const running = yield* Effect.forkChild(run)
      yield* TestClock.adjust(1)
      world.calls.length = 0
      yield* receive("eversend", "route-key", callback({ providerReference: "ever-1" }))
      expect(yield* Deferred.await(asked)).toBe(true)
      expect(world.calls).toEqual(["store"])
      expect(world.dueAts).toEqual([1 + pollLeaseMs(world.providerTimeoutMs)])
      yield* Fiber.interrupt(running)
    })
  )

  it.effect("accepts the same bytes again, and asks once", () =>
    Effect.gen(function* () {
      const world = newWorld()
      const { receive, round } = yield* ingress(world)
      const same = callback({ reference: world.transaction.reference })
      expect(yield* receive("eversend", "route-key", same)).toBe("stored")
      expect(yield* receive("eversend", "route-key", same)).toBe("stored")
      yield* round
      expect(world.asked.length).toBe(1)
    })
  )

  it.effect("asks once more for all callbacks that came while it asked about their transaction, however many", () =>
    Effect.gen(function* () {
      const { answered, first, more, others, world } = yield* givenPollUnderWay(CROWD)
      expect(world.asked).toHaveLength(1)
      yield* Deferred.succeed(answered, true)
      yield* Fiber.joinAll([first, others])
      expect(world.asked).toHaveLength(2)
      expect(world.done.length).toBe(1 + CROWD)
      // What comes later is asked about again.
      yield* more("later")
      expect(world.asked.length).toBe(3)
    })
  )

  it.effect("polls by the record as it is once the poll before it has ended", () =>
    Effect.gen(function* () {
      const { answered, first, others, world } = yield* givenPollUnderWay(1)
      world.revision = 7n
      yield* Deferred.succeed(answered, true)
      yield* Fiber.joinAll([first, others])
      expect(world.revisions).toEqual([1n, 7n])
      expect(world.actors).toEqual(["callback", "callback"])
    })
  )

  it.effect("asks about no record that is gone once the poll before it has ended", () => {
    const { layer, lines } = givenTelemetry()
    return Effect.gen(function* () {
      const { answered, first, others, world } = yield* givenPollUnderWay(1)
      const { reference } = world.transaction
      world.transaction = payout()
      yield* Deferred.succeed(answered, true)
      yield* Fiber.joinAll([first, others])
      expect(world.asked).toEqual([reference])
      expect(world.done).toEqual([reference])
      expect(world.later).toHaveLength(1)
      expect(lines).toEqual([])
    }).pipe(Effect.provide(layer))
  })

  it.effect("waits for no poll longer than its lease allows, and looks again", () =>
    Effect.gen(function* () {
      const { answered, first, more, others, world } = yield* givenPollUnderWay(CROWD)
      yield* TestClock.adjust("6 seconds")
      yield* Fiber.join(others)
      expect(world.done).toEqual([])
      expect(world.later).toHaveLength(CROWD)
      yield* Deferred.succeed(answered, true)
      yield* Fiber.join(first)
      expect(world.asked).toHaveLength(1)
      // Nobody is in the way of the next.
      yield* more("later")
      expect(world.asked).toHaveLength(2)
    })
  )

  it.effect("does not ask about the first that has no reference of the provider's, where the callback names none either", () =>
    Effect.gen(function* () {
      const world = newWorld({ providerReference: null })
      const { receive, round } = yield* ingress(world)
      yield* receive("eversend", "route-key", callback({}))
      yield* receive("eversend", "route-key", callback({ reference: newReference() }))
      yield* round
      expect(world.asked).toEqual([])
      expect(world.later).toEqual([CALLBACK_RETRY_AGES_MS[0], CALLBACK_RETRY_AGES_MS[0]])
    })
  )

  it.effect("does not ask about a transaction of another provider or mode", () =>
    Effect.gen(function* () {
      for (const given of [{ provider: "mtn" }, { mode: "live" }] as const) {
        const world = newWorld(given)
        const { receive, round } = yield* ingress(world)
        yield* receive("eversend", "route-key", callback({ reference: world.transaction.reference, providerReference: "ever-1" }))
        yield* round
        expect(world.asked).toEqual([])
        expect(world.later).toEqual([CALLBACK_RETRY_AGES_MS[0]])
      }
    })
  )
})
