import { Cause, Effect, Exit, FiberSet, Option, Queue, Scope } from "effect"

/** How long a worker whose claim failed waits before it tries again. */
const BROKEN_PAUSE_MS = 1_000
/**
 * A claim costs hardly more for many slots than for one. So the next claim waits until this share of the work under way has
 * ended,
 */
const ENOUGH = 1 / 4
/** or until this many milliseconds have passed since the first of it ended. */
const GATHER_MS = 20
/** How long a stopping worker waits for its items. An item that it interrupts stays leased, so no other worker takes it. */
const DRAIN_MS = 5_000

/** Background work on rows that are claimed under a lease. */
export interface Worker<A> {
  /** Claims once, does all of the claimed work, and returns the number of items. */
  readonly round: Effect.Effect<number>
  /** Claims and works for ever. A slow item occupies only its own slot. When interrupted, it gives items `DRAIN_MS` to end. */
  readonly run: Effect.Effect<never>
  /** Makes `run` claim at once. */
  readonly nudge: Effect.Effect<void>
  /**
   * Lets `write` create an item that is due. Where `run` has a free slot, `write` gets `isTaken` and leases the item in the
   * same statement: the work then begins as soon as the item is written, without a claim. Null means that there is no new item.
   */
  readonly submit: <E>(write: (isTaken: boolean) => Effect.Effect<A | null, E>) => Effect.Effect<A | null, E>
}

interface WorkerOptions<A> {
  readonly name: string
  /** The most items under way at once. */
  readonly slots: number
  /** How often to look for work when there is none and no nudge arrives. */
  readonly idleMs: number
  /** Claims at most `free` items that are due. */
  readonly claim: (free: number) => Effect.Effect<ReadonlyArray<A>>
  /** Does one item. If it dies, the item's lease expires, and it is claimed again. */
  readonly work: (item: A) => Effect.Effect<void>
}

/** Items that ended since the last claim began, and how many of them justify another claim. */
interface Ends {
  count: number
  enough: number
}

export const makeWorker = Effect.fnUntraced(function* <A>(options: WorkerOptions<A>): Effect.fn.Return<Worker<A>> {
  const { idleMs, name, slots, work } = options
  /** `wake`: something happened. `urgent`: it justifies a claim now. */
  const [wake, urgent] = [yield* Queue.sliding<void>(1), yield* Queue.sliding<void>(1)]
  const nudge = Effect.asVoid(Effect.andThen(Queue.offer(urgent, undefined), Queue.offer(wake, undefined)))
  // Looking for work all the time is not worth a trace; the work itself is.
  const claim = (free: number) => options.claim(free).pipe(Effect.withTracerEnabled(false))

  // It goes on after any failure, but never without logging it.
  const named = Effect.annotateLogs({ worker: name })
  const attempted = (item: A) =>
    Effect.catchCause(work(item), (cause) =>
      Cause.hasInterruptsOnly(cause) ? Effect.void : named(Effect.logError("an item of a worker broke", cause))
    )

  const round = Effect.gen(function* () {
    const items = yield* claim(slots)
    yield* Effect.forEach(items, attempted, { concurrency: "unbounded", discard: true })
    return items.length
  })

  /** Items under way, and those that are being written for a slot. */
  let busy = 0
  const ends: Ends = { count: 0, enough: 0 }
  const ended = () => {
    busy -= 1
    if (++ends.count >= ends.enough) Queue.offerUnsafe(urgent, undefined)
    Queue.offerUnsafe(wake, undefined)
  }
  /** Begins one item, for which a slot is already counted; undefined while `run` is not running. */
  let begin: ((item: A) => void) | undefined

  const submit: Worker<A>["submit"] = (write) =>
    Effect.suspend(() => {
      if (begin === undefined || busy >= slots) return Effect.tap(write(false), (item) => (item === null ? Effect.void : nudge))
      busy += 1
      return write(true).pipe(
        Effect.onExit((exit) => {
          if (Exit.isFailure(exit) || exit.value === null || begin === undefined) return Effect.sync(ended)
          begin(exit.value)
          return Effect.void
        }),
        Effect.uninterruptible
      )
    })

  /** Waits until there is a reason to claim again. */
  const rest = Effect.gen(function* () {
    const happened = yield* Queue.take(wake).pipe(Effect.timeoutOption(idleMs))
    if (Option.isSome(happened)) yield* Queue.take(urgent).pipe(Effect.timeoutOption(GATHER_MS))
  })

  const step = Effect.fnUntraced(function* (run: (item: A) => void) {
    const free = slots - busy
    yield* Effect.andThen(Queue.clear(wake), Queue.clear(urgent))
    ends.count = 0
    const claimed = free > 0 ? yield* Effect.exit(claim(free)) : Exit.succeed([])
    if (Exit.isFailure(claimed)) {
      if (!Cause.hasInterruptsOnly(claimed.cause)) yield* named(Effect.logError("a worker could claim nothing", claimed.cause))
      return yield* Effect.sleep(BROKEN_PAUSE_MS)
    }
    ends.enough = Math.ceil((slots - free + claimed.value.length) * ENOUGH)
    busy += claimed.value.length
    for (const item of claimed.value) run(item)
    yield* rest
  })

  const loop = Effect.fnUntraced(function* (): Effect.fn.Return<never, never, Scope.Scope> {
    const items = yield* FiberSet.make<void>()
    const fork = yield* FiberSet.runtime(items)()
    const run = (item: A) => void fork(attempted(item)).addObserver(ended)
    yield* Effect.addFinalizer(() => {
      begin = undefined
      return Effect.timeoutOption(Effect.interruptible(FiberSet.awaitEmpty(items)), DRAIN_MS)
    })
    begin = run
    return yield* Effect.forever(step(run))
  })

  return { round, run: Effect.scoped(loop()), nudge, submit }
})

/** Runs workers until the scope closes, and then stops all of them at once: together they take no longer than the slowest. */
export const runTogether = Effect.fnUntraced(function* (workers: ReadonlyArray<Pick<Worker<unknown>, "run">>) {
  const together = yield* Scope.fork(yield* Effect.scope, "parallel")
  yield* Effect.forEach(workers, ({ run }) => Effect.forkIn(run, together), { discard: true })
})
