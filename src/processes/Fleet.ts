import { Deferred, Effect, Exit, Schema, Scope } from "effect"
import type { CircuitPolicy } from "../domain/CircuitBreaker.ts"
import { ofPrimary } from "./Questions.ts"
import { makeSharedCounts } from "./SharedCounts.ts"
import { steadyClock } from "./SteadyClock.ts"
import { beginWorkerLife, type NotStarted, type ServedAt, type WorkerLife } from "./WorkerLife.ts"
import { processName } from "./WorkerSlot.ts"

/** Before a worker that ended is replaced; twice as long after each that ended within `STEADY_MS`, at most `LONGEST_PAUSE_MS`. */
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 10_000
const STEADY_MS = 60_000
/** Longer than a provider call and a money step together; a supervisor that kills what does not end gives a minute. */
const DRAIN_MS = 45_000

/** A worker could not start, and so the gateway does not. */
export class WorkersNotStarted extends Schema.TaggedError<WorkersNotStarted>()("WorkersNotStarted", {
  reasons: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return this.reasons.join("\n")
  }
}

/** The worker processes of one machine. */
export interface Fleet {
  readonly workers: number
  readonly at: ServedAt
  /** Those that take requests. */
  readonly serving: Effect.Effect<ReadonlyArray<WorkerLife>>
  /** How often the place of each worker was taken by another, by its number. */
  readonly restarts: ReadonlyMap<number, number>
  /** True once they were told to stop. */
  readonly draining: Effect.Effect<boolean>
  /** Ends them without letting them drain. */
  readonly kill: () => void
}

/**
 * Starts so many workers and keeps each of them running while the scope lives. When it closes all are told to stop, and what has not drained in
 * time is killed. The first starts alone: what is wrong with the settings or the database is said once, and one alone updates the schema.
 */
export const startFleet = Effect.fnUntraced(function* (
  workers: number,
  circuit: CircuitPolicy
): Effect.fn.Return<Fleet, WorkersNotStarted, Scope.Scope> {
  const lives = new Map<number, WorkerLife>()
  const restarts = new Map<number, number>()
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const clock = yield* steadyClock
  let isDraining = false
  const counts = makeSharedCounts(clock, circuit, (line) => {
    for (const { ask } of lives.values()) fork(ask(ofPrimary.lines, [line]))
  })

  const live = Effect.fnUntraced(function* (number: number, first: Deferred.Deferred<ServedAt, NotStarted>) {
    const share = counts.forWorker()
    const life = yield* beginWorkerLife({ number, workers }, share.answers)
    lives.set(number, life)
    yield* Effect.addFinalizer(() =>
      Effect.andThen(
        share.end,
        Effect.sync(() => lives.delete(number))
      )
    )
    const onServed = Effect.gen(function* () {
      const served = yield* Effect.exit(life.served)
      // It takes every circuit for untouched until it is told.
      if (Exit.isSuccess(served)) yield* life.ask(ofPrimary.lines, yield* counts.touched)
      yield* Deferred.done(first, served)
    })
    yield* Effect.forkScoped(onServed)
    const how = yield* life.ended
    // It may have ended before it was told.
    yield* Deferred.done(first, yield* Effect.exit(life.served))
    return how
  }, Effect.scoped)

  const keep = Effect.fnUntraced(function* (number: number, first: Deferred.Deferred<ServedAt, NotStarted>) {
    let pause = FIRST_PAUSE_MS
    for (;;) {
      const begunAt = clock.currentTimeMillisUnsafe()
      const how = yield* live(number, first)
      // One that never served says why, and nothing starts.
      if (isDraining || Exit.isFailure(yield* Effect.exit(Deferred.await(first)))) return
      if (clock.currentTimeMillisUnsafe() - begunAt >= STEADY_MS) pause = FIRST_PAUSE_MS
      restarts.set(number, (restarts.get(number) ?? 0) + 1)
      const line = Effect.logError("a worker process ended: another takes its place")
      yield* Effect.annotateLogs(line, { process: processName({ number }), note: how })
      yield* Effect.sleep(pause)
      if (isDraining) return
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS)
    }
  })

  const kept = yield* Scope.make()
  const drain = Effect.gen(function* () {
    isDraining = true
    const all = [...lives.values()]
    for (const { tell } of all) tell("SIGTERM")
    yield* Effect.timeoutOption(
      Effect.forEach(all, ({ ended }) => ended, { concurrency: "unbounded" }),
      DRAIN_MS
    )
  })
  yield* Effect.addFinalizer((exit) => Effect.andThen(drain, Scope.close(kept, exit)))

  const start = Effect.fnUntraced(function* (number: number) {
    const first = yield* Deferred.make<ServedAt, NotStarted>()
    restarts.set(number, 0)
    yield* Effect.forkIn(keep(number, first), kept)
    return yield* Effect.mapError(Deferred.await(first), ({ reasons }) => new WorkersNotStarted({ reasons }))
  })
  const at = yield* start(1)
  const others = Array.from({ length: workers - 1 }, (_, index) => index + 2)
  yield* Effect.forEach(others, start, { concurrency: "unbounded" })

  return {
    workers,
    at,
    restarts,
    serving: Effect.sync(() => [...lives.values()].filter(({ isServing }) => isServing())),
    draining: Effect.sync(() => isDraining),
    kill: () => {
      for (const { tell } of lives.values()) tell("SIGKILL")
    }
  }
})
