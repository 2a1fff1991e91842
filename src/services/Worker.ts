import { Cause, Effect, Exit, FiberSet, Queue, type Scope } from "effect"

/** How long a worker that could not claim anything waits before it tries again. */
const BROKEN_PAUSE_MS = 1_000

/** Background work on rows that are claimed under a lease. */
export interface Worker {
  /** Claims once, does all of it, and answers how many. */
  readonly round: Effect.Effect<number>
  /** Claims and works for ever. A slow item holds up one slot and nobody else. */
  readonly run: Effect.Effect<never>
  /** Wakes `run` at once. */
  readonly nudge: Effect.Effect<void>
}

export interface WorkerOptions<A> {
  /** As logs name it. */
  readonly name: string
  /** Items under way at once. */
  readonly slots: number
  /** How often to look when there is nothing to do and nobody nudges. */
  readonly idleMs: number
  /** Takes at most `free` items that are due. */
  readonly claim: (free: number) => Effect.Effect<ReadonlyArray<A>>
  /** Does one item. When it dies its lease runs out, and it is claimed again. */
  readonly work: (item: A) => Effect.Effect<void>
}

export const makeWorker = Effect.fnUntraced(function* <A>(options: WorkerOptions<A>): Effect.fn.Return<Worker> {
  const { idleMs, name, slots, work } = options
  const wake = yield* Queue.sliding<void>(1)
  const nudge = Effect.asVoid(Queue.offer(wake, undefined))
  // Looking for work all the time is not worth a trace; the work itself is.
  const claim = (free: number) => options.claim(free).pipe(Effect.withTracerEnabled(false))

  const attempted = (item: A) => Effect.exit(work(item)).pipe(Effect.flatMap((exit) => report(`${name}: one item broke`, exit)))

  const round = Effect.gen(function* () {
    const items = yield* claim(slots)
    yield* Effect.forEach(items, attempted, { concurrency: "unbounded", discard: true })
    return items.length
  })

  const step = Effect.fnUntraced(function* (underWay: FiberSet.FiberSet<void>) {
    const free = slots - (yield* FiberSet.size(underWay))
    const claimed = free > 0 ? yield* Effect.exit(claim(free)) : Exit.succeed([])
    yield* report(`${name}: nothing could be claimed`, claimed)
    if (Exit.isFailure(claimed)) return yield* Effect.sleep(BROKEN_PAUSE_MS)
    for (const item of claimed.value) yield* FiberSet.run(underWay, Effect.andThen(attempted(item), nudge))
    if (claimed.value.length === 0) yield* Queue.take(wake).pipe(Effect.timeoutOption(idleMs))
  })

  const loop = Effect.fnUntraced(function* (): Effect.fn.Return<never, never, Scope.Scope> {
    const underWay = yield* FiberSet.make<void>()
    return yield* Effect.forever(step(underWay))
  })

  return { round, run: Effect.scoped(loop()), nudge }
})

/** A worker goes on after whatever broke, but never without saying so. */
const report = (message: string, exit: Exit.Exit<unknown>): Effect.Effect<void> =>
  Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause) ? Effect.logError(message, exit.cause) : Effect.void
