import { createServer, type Socket } from "node:net"
import { describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { expect } from "vitest"
import { countingHere, RateLimitsMemory } from "../../../src/persistence/requests/RateLimitsMemory.ts"
import { RateLimitsRedis } from "../../../src/persistence/requests/RateLimitsRedis.ts"
import { RateLimits } from "../../../src/services/ports/RateLimits.ts"

const limit = { count: 30, windowMs: 60_000, burst: 3 }
const take = (bucket: string) =>
  Effect.flatMap(RateLimits, (limits) =>
    Effect.map(limits.take(bucket, limit, 1), (taken) => (taken._tag === "Allowed" ? 0 : taken.retryAfterSeconds))
  )

/** Speaks enough of Redis to hold buckets that never fill again; what its real script computes is Effect's own matter. */
const redis = (left: number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const seen: Array<string> = []
      const tokens = new Map<string, number>()
      const sockets = new Set<Socket>()
      const answer = (command: ReadonlyArray<string>): string => {
        const [name = "", , , bucket = "", , taken = "", , , , overflow] = command
        if (/^EVAL/i.test(name)) {
          seen.push(bucket)
          const rest = (tokens.get(bucket) ?? left) - Number(taken)
          if (rest >= 0 || overflow === "1") tokens.set(bucket, rest)
          return `*2\r\n$${String(rest).length}\r\n${rest}\r\n$1\r\n0\r\n`
        }
        return /^HELLO/i.test(name) ? "%1\r\n+server\r\n+redis\r\n" : "+OK\r\n"
      }
      const server = createServer((socket) => {
        sockets.add(socket)
        socket.on("error", () => socket.destroy())
        socket.on("data", (bytes) => {
          const parts = bytes.toString().split("\r\n")
          for (let at = 0; at < parts.length; ) {
            const count = Number(/^\*(\d+)/.exec(parts[at] ?? "")?.[1] ?? 0)
            if (count > 0) socket.write(answer(Array.from({ length: count }, (_, index) => parts[at + 2 + 2 * index] ?? "")))
            at += 1 + 2 * count
          }
        })
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      const stop = async () => {
        for (const socket of sockets) socket.destroy()
        await new Promise<void>((resolve) => void server.close(() => resolve()))
      }
      return { url: Redacted.make(`redis://:hidden@127.0.0.1:${port}`), seen, stop, tokens }
    }),
    ({ stop }) => Effect.promise(stop)
  )

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
      const server = yield* redis(3)
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
        const { tokens, url } = yield* redis(limit.burst)
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
      const server = yield* redis(3)
      yield* Effect.promise(server.stop)
      const building = yield* Effect.forkChild(Layer.build(RateLimitsRedis.layer(server.url)).pipe(Effect.provide(logged(lines))))
      const context = yield* Fiber.join(building)
      expect(yield* Effect.provide(take("k"), context)).toBe(0)
      expect(lines.join()).toContain("Redis cannot be reached")
    }).pipe(Effect.scoped)
  )
})
