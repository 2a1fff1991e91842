import { describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger, Metric } from "effect"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import { TestClock } from "effect/testing"
import { expect } from "vitest"
import { countingHere, RateLimitsMemory } from "../../../src/persistence/requests/RateLimitsMemory.ts"
import { RateLimitsRedis } from "../../../src/persistence/requests/RateLimitsRedis.ts"
import { RateLimits } from "../../../src/services/ports/RateLimits.ts"
import { fakeRedis } from "../../fakes/FakeRedis.ts"
import { readExposition, sampled } from "../../support/Exposition.ts"

const limit = { count: 30, windowMs: 60_000, burst: 3 }
const take = (bucket: string) =>
  Effect.flatMap(RateLimits, (limits) =>
    Effect.map(limits.take(bucket, limit, 1), (taken) => (taken._tag === "Allowed" ? 0 : taken.retryAfterSeconds))
  )

const immediate = Effect.promise(() => new Promise((next) => setImmediate(next)))
const logged = (lines: Array<string>) => Logger.layer([Logger.make(({ message }) => void lines.push(JSON.stringify(message)))])

describe("rate limits in memory", () => {
  it.effect("allow a burst, then one request for each interval, and never save up more than the burst", () =>
    Effect.gen(function* () {
      expect([yield* take("a"), yield* take("a"), yield* take("a"), yield* take("a")]).toEqual([0, 0, 0, 2])
      expect(yield* take("b")).toBe(0)
      yield* TestClock.adjust(1999)
      expect(yield* take("a")).toBe(1)
      yield* TestClock.adjust(1)
      expect([yield* take("a"), yield* take("a")]).toEqual([0, 2])
      yield* TestClock.adjust("1 hour")
      expect([yield* take("a"), yield* take("a"), yield* take("a"), yield* take("a")]).toEqual([0, 0, 0, 2])
    }).pipe(Effect.provide(RateLimitsMemory))
  )

  it.effect("drop the least recently used bucket when there are too many", () =>
    Effect.gen(function* () {
      const counting = countingHere(2)
      const once = { count: 1, windowMs: 60_000, burst: 1 }
      const tags = (bucket: string) => Effect.map(counting.take(bucket, once, 1), ({ _tag }) => _tag)
      expect([yield* tags("a"), yield* tags("b"), yield* tags("a"), yield* tags("c")]).toEqual([
        "Allowed",
        "Allowed",
        "Limited",
        "Allowed"
      ])
      expect([yield* tags("a"), yield* tags("b")]).toEqual(["Limited", "Allowed"])
    })
  )
})

describe("rate limits in Redis", () => {
  it.live("are shared by all processes, and counted by each process itself when Redis is gone", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const server = yield* fakeRedis(3)
      const node = () => Layer.build(Layer.fresh(RateLimitsRedis.layer(server.url))).pipe(Effect.provide(logged(lines)))
      const [one, two] = [yield* node(), yield* node()]
      const at = (context: typeof one) => Effect.provide(Effect.provide(take("k"), context), logged(lines))
      expect([yield* at(one), yield* at(two), yield* at(one), yield* at(two)], lines.join()).toEqual([0, 0, 0, 2])
      expect(new Set(server.seen)).toEqual(new Set(["gateway:rate_limit:k"]))
      expect(lines).toEqual([])
      yield* Effect.promise(server.stop)
      expect([yield* at(one), yield* at(one), yield* at(one)]).toEqual([0, 0, 0])
      expect(yield* at(one)).toBeGreaterThan(0)
      expect(lines.filter((line) => line.includes("Redis cannot be reached"))).toHaveLength(1)
      expect(lines.join()).not.toContain("hidden")
    }).pipe(Effect.scoped)
  )

  it.live(
    "are closed until the latest end that anybody said, however many said it at once, and what is reserved and given back is no debt",
    () =>
      Effect.gen(function* () {
        const { tokens, url } = yield* fakeRedis(limit.burst)
        const left = () => tokens.get("gateway:rate_limit:k")
        yield* Effect.gen(function* () {
          const limits = yield* RateLimits
          // Three are there, and the fourth comes after two seconds.
          const reserved = yield* Effect.forEach([1, 2, 3, 4], () => limits.reserve("k", limit, 2_000))
          expect(reserved.map((one) => one._tag === "Reserved" && one.waitMs > 0)).toStrictEqual([false, false, false, true])
          expect(yield* limits.reserve("k", limit, 2_000)).toMatchObject({ _tag: "Limited" })
          expect(left()).toBe(-1)
          // A debt that is given back is none: it would else keep the bucket empty for as long.
          yield* limits.giveBack("k", limit, 1)
          expect(left()).toBe(0)
          const ends = [20_000, 60_000, 60_000, 40_000, 60_000]
          yield* Effect.forEach(ends, (ms) => limits.close("k", limit, ms), { concurrency: "unbounded" })
          // Nobody gets one of the 29 that come back within a minute, and the next one is there then.
          expect(left()).toBe(-29)
          yield* limits.close("k", limit, 10_000)
          expect(left()).toBe(-29)
        }).pipe(Effect.provide(RateLimitsRedis.layer(url)))
      }).pipe(Effect.scoped)
  )

  it.live("do not prevent the start when Redis is away", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const server = yield* fakeRedis(3)
      yield* Effect.promise(server.stop)
      const building = yield* Effect.forkChild(Layer.build(RateLimitsRedis.layer(server.url)).pipe(Effect.provide(logged(lines))))
      const context = yield* Fiber.join(building)
      expect(yield* Effect.provide(take("k"), context)).toBe(0)
      expect(lines.join()).toContain("Redis cannot be reached")
    }).pipe(Effect.scoped)
  )

  it.effect("are asked for when no tenant asks, so that a Redis that went away while nothing happened is seen", () =>
    Effect.gen(function* () {
      const server = yield* fakeRedis(3)
      const metrics = new Map()
      yield* Effect.gen(function* () {
        yield* Layer.build(RateLimitsRedis.layer(server.url)).pipe(Effect.provide(logged([])))
        const up = Effect.map(PrometheusMetrics.format(), (page) => sampled(readExposition(page), "gateway_redis_up"))
        const becomes = (value: number) =>
          Effect.repeat(Effect.andThen(TestClock.adjust("1 seconds"), Effect.andThen(immediate, up)), {
            until: (now) => now === value
          })
        expect(yield* up).toBe(1)
        yield* Effect.promise(server.stop)
        yield* becomes(0)
        yield* Effect.promise(server.start)
        yield* becomes(1)
      }).pipe(Effect.provideService(Metric.MetricRegistry, metrics))
    }).pipe(Effect.scoped)
  )
})
