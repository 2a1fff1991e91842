import { Clock, type Context, Deferred, Effect, Exit, Fiber, Option, type Scope } from "effect"

/** Calls `fire` once after `ms`, unless the function that it returns is called before. */
export type Timer = (ms: number, fire: () => void) => () => void

const NANOS_A_MS = 1_000_000

interface Waiting {
  readonly at: number
  readonly fire: () => void
}

/**
 * Timers while the scope lives. All of one length share one sleeping fiber, because they fire in the order in which they were set. Most are
 * cancelled long before, so that a fiber for each would cost more than the work that it limits.
 */
export const makeTimer: Effect.Effect<Timer, never, Scope.Scope> = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const scope = yield* Effect.scope
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const lines = new Map<number, Set<Waiting>>()
  // The monotonic clock, because the time of day may be set back.
  const now = () => Number(clock.monotonicTimeNanosUnsafe()) / NANOS_A_MS

  const watching = Effect.fnUntraced(function* (ms: number, line: Set<Waiting>) {
    // An iterator that stays open would hold whatever was put off since it was opened.
    for (let [first] = line; first !== undefined; [first] = line) {
      const left = first.at - now()
      if (left > 0) yield* Effect.sleep(left)
      if (!line.delete(first)) continue
      // One that breaks must not silence those after it.
      const exit = yield* Effect.exit(Effect.sync(first.fire))
      if (Exit.isFailure(exit)) yield* Effect.logError("a timer callback failed", exit.cause)
    }
    lines.delete(ms)
  })

  return (ms, fire) => {
    const one = { at: now() + ms, fire }
    const known = lines.get(ms)
    const line = known ?? new Set([one])
    if (known === undefined) {
      lines.set(ms, line)
      Fiber.runIn(run(watching(ms, line)), scope)
    } else line.add(one)
    return () => void line.delete(one)
  }
})

/** As `Effect.timeoutOrElse`: what is late is interrupted, and `late` comes in its place. */
export const timeoutWith =
  (timer: Timer) =>
  <A, E, R, B, E2, R2>(effect: Effect.Effect<A, E, R>, ms: number, late: () => Effect.Effect<B, E2, R2>) =>
    Effect.contextWith((context: Context.Context<R | R2>) =>
      Effect.callback<A | B, E | E2, R2>((resume) => {
        const fiber = Effect.runForkWith(context)(effect)
        const exit = fiber.pollUnsafe()
        if (exit !== undefined) return resume(exit)
        const stop = timer(ms, () => resume(Effect.andThen(Fiber.interrupt(fiber), Effect.suspend(late))))
        fiber.addObserver((exit) => {
          stop()
          resume(exit)
        })
        return Effect.andThen(Effect.sync(stop), Fiber.interrupt(fiber))
      })
    )

/** The end of a fiber, which being late does not stop: `late` comes in its place then. */
export const endsWithin =
  (timer: Timer) =>
  <A, E, B, E2>(fiber: Fiber.Fiber<A, E>, ms: number, late: Effect.Effect<B, E2>): Effect.Effect<A | B, E | E2> =>
    Effect.callback<A | B, E | E2>((resume) => {
      const exit = fiber.pollUnsafe()
      if (exit !== undefined) return resume(exit)
      const stop = timer(ms, () => resume(late))
      const forget = fiber.addObserver((exit) => {
        stop()
        resume(exit)
      })
      return Effect.sync(() => {
        stop()
        forget()
      })
    })

/** A poll for another source of the end: every `everyMs` it gives the end, or none so far. */
export interface Meanwhile<A> {
  readonly everyMs: number
  readonly end: Effect.Effect<Option.Option<A>>
}

/**
 * As `endsWithin`, for any number of waiters. The time begins at once. `late` runs once, in the scope, independent of the waiters. All of
 * them get the first end.
 */
export const endsOnceWithin =
  (timer: Timer, scope: Scope.Scope) =>
  <A, E>(
    fiber: Fiber.Fiber<A, E>,
    ms: number,
    late: Effect.Effect<A, E>,
    meanwhile?: Meanwhile<A> | undefined
  ): Effect.Effect<Effect.Effect<A, E>> =>
    Effect.contextWith((context: Context.Context<never>) => {
      const end = Deferred.makeUnsafe<A, E>()
      let isOver = false
      const run = (effect: Effect.Effect<unknown>) => void Fiber.runIn(Effect.runForkWith(context)(effect), scope)
      const finish = (exit: Effect.Effect<A, E>) => {
        if (isOver) return
        isOver = true
        stop()
        stopAsking()
        Deferred.doneUnsafe(end, exit)
      }
      const stop = timer(ms, () => run(Effect.map(Effect.exit(late), finish)))
      let stopAsking = () => {}
      const ask = (question: Meanwhile<A>) => {
        if (isOver) return
        stopAsking = timer(question.everyMs, () =>
          run(
            Effect.map(
              question.end,
              Option.match({ onNone: () => ask(question), onSome: (given) => finish(Exit.succeed(given)) })
            )
          )
        )
      }
      if (meanwhile !== undefined) ask(meanwhile)
      fiber.addObserver(finish)
      return Effect.succeed(Deferred.await(end))
    })

/** Milliseconds of the monotonic clock, which cannot be set. */
export const elapsed: Effect.Effect<number> = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos) / NANOS_A_MS)
