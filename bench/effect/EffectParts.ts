import { Cache, Effect, Exit, Layer, Request, RequestResolver } from "effect"
import * as RateLimiter from "effect/persistence/RateLimiter"
import type { SqlClient } from "effect/sql"
import { Distribution } from "../../src/persistence/connection/Distribution.ts"
import { makeBatchedRead } from "../../src/persistence/reads/BatchedRead.ts"
import { makeVersionedRowCache } from "../../src/persistence/reads/RowCache.ts"
import { countingHere } from "../../src/persistence/requests/RateLimitsMemory.ts"
import { type Effort, type Measured, median, type Part } from "../Report.ts"

// Parts of our own beside the parts of Effect that do nearly the same. Where ours are not clearly faster, Effect's take their place.

const KEYS = 1_000
const keys = Array.from({ length: KEYS }, (_, n) => `key ${n}`)
const CALLERS = 64
const LARGEST_BATCH = 64

/** Microseconds an operation, of so many. */
const timed = (operations: number, work: Effect.Effect<unknown>): Effect.Effect<number> =>
  Effect.gen(function* () {
    const began = performance.now()
    yield* work
    return ((performance.now() - began) * 1_000) / operations
  })

/** One after the other. `Effect.repeat` would cost more than what is measured. */
const times = (count: number, one: () => Effect.Effect<unknown>): Effect.Effect<void> =>
  Effect.suspend(() => {
    let left = count
    return Effect.whileLoop({ while: () => left-- > 0, body: one, step: () => undefined })
  })

const forEachKey = (operations: number, one: (key: string) => Effect.Effect<unknown>): Effect.Effect<number> => {
  let n = 0
  return timed(
    operations,
    times(operations, () => one(keys[n++ % KEYS] ?? ""))
  )
}

const inTurn = (
  { quick, rounds }: Effort,
  each: (operations: number) => { readonly ours: Effect.Effect<number>; readonly theirs: Effect.Effect<number> }
): Effect.Effect<Measured> =>
  Effect.gen(function* () {
    const { ours, theirs } = each(quick ? KEYS : 200 * KEYS)
    const measured: Array<readonly [number, number]> = []
    // The first round is for the compiler.
    for (let round = 0; round <= rounds; round++) measured.push([yield* ours, yield* theirs])
    const own = median(measured.slice(1).map(([one]) => one))
    const other = median(measured.slice(1).map(([, one]) => one))
    return { ours: own, theirs: other, ratio: own / other, unit: "µs", details: { rounds: measured } }
  })

const run = (work: (effort: Effort) => Effect.Effect<Measured>) => (_cluster: unknown, effort: Effort) =>
  Effect.runPromise(work(effort))

/** A database that answers in the next turn of the event loop. */
const afterATurn = <A>(answer: A): Effect.Effect<A> =>
  Effect.callback<A>((resume) => {
    setImmediate(() => resume(Effect.succeed(answer)))
  })

export const rowCache: Part = {
  name: "row-cache",
  against: "Effect's Cache, without what tells that a row changed",
  target: 1.1,
  atMost: true,
  run: run((effort) =>
    Effect.gen(function* () {
      const sql = (() => Effect.succeed([{ sequence: 1n }])) as unknown as SqlClient.SqlClient
      const { keep } = yield* makeVersionedRowCache(sql)
      const ours = yield* keep({ read: Effect.succeed<ReadonlyArray<string>>, atMost: KEYS })
      const theirs = yield* Cache.make({ lookup: (key: string) => Effect.succeed(key), capacity: KEYS, timeToLive: "10 seconds" })
      return yield* inTurn(effort, (operations) => ({
        ours: forEachKey(operations, ours.get),
        theirs: forEachKey(operations, (key) => Cache.get(theirs, key))
      }))
    }).pipe(Effect.scoped, Effect.provideService(Distribution, { isDistributed: false }))
  )
}

interface Question extends Request.Request<string> {
  readonly _tag: "Question"
  readonly key: string
}

const Question = Request.tagged<Question>("Question")

export const batchedRead: Part = {
  name: "batched-read",
  against: "Effect's RequestResolver, 64 callers",
  target: 1,
  atMost: true,
  run: run((effort) =>
    Effect.gen(function* () {
      const ours = yield* makeBatchedRead((questions: ReadonlyArray<string>) => afterATurn(questions))
      const resolver = RequestResolver.make<Question>((entries) =>
        Effect.map(afterATurn(entries), (answered) => {
          for (const entry of answered) entry.completeUnsafe(Exit.succeed(entry.request.key))
        })
      ).pipe(RequestResolver.batchN(LARGEST_BATCH))
      const among = (operations: number, ask: (key: string) => Effect.Effect<unknown>) =>
        timed(
          operations,
          Effect.forEach(keys.slice(0, CALLERS), (key) => times(operations / CALLERS, () => ask(key)), {
            concurrency: "unbounded",
            discard: true
          })
        )
      return yield* inTurn(effort, (operations) => ({
        ours: among(operations, ours),
        theirs: among(operations, (key) => Effect.request(Question({ key }), resolver))
      }))
    }).pipe(Effect.scoped)
  )
}

export const rateLimit: Part = {
  name: "rate-limit",
  against: "Effect's RateLimiter in memory, which forgets no key",
  target: 1,
  atMost: true,
  run: run((effort) =>
    Effect.gen(function* () {
      const limit = { count: 1_000_000, windowMs: 1_000, burst: 1_000_000 }
      const ours = countingHere()
      const limiter = yield* RateLimiter.RateLimiter
      return yield* inTurn(effort, (operations) => ({
        ours: forEachKey(operations, (key) => ours.take(key, limit, 1)),
        theirs: forEachKey(operations, (key) =>
          Effect.orDie(
            limiter.consume({ key, algorithm: "token-bucket", onExceeded: "fail", window: 1_000, limit: limit.count, tokens: 1 })
          )
        )
      }))
    }).pipe(Effect.provide(RateLimiter.layer.pipe(Layer.provide(RateLimiter.layerStoreMemory))))
  )
}
