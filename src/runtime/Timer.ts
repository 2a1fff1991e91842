import { Cause, Clock, type Context, Effect, Exit, Fiber, Option, type Scope } from "effect"

/** Calls `fire` once after `ms`, rounded up to whole ones, unless the function that it returns is called before. */
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
      // The platform's timers leave out the fraction, and may be early by it.
      for (let left = first.at - now(); left > 0; left = first.at - now()) yield* Effect.sleep(Math.ceil(left))
      if (!line.delete(first)) continue
      // One that breaks must not silence those after it.
      const exit = yield* Effect.exit(Effect.sync(first.fire))
      if (Exit.isFailure(exit)) yield* Effect.logError("a timer callback failed", exit.cause)
    }
    // In the same turn in which the line was seen to be empty: what joined it afterwards would never be called.
    lines.delete(ms)
  })

  return (ms, fire) => {
    // The rest of a call's time has a fraction that no other call has: each would have a fiber that sleeps to the end of that time.
    const wholeMs = Math.ceil(ms)
    const one = { at: now() + wholeMs, fire }
    const known = lines.get(wholeMs)
    const line = known ?? new Set([one])
    if (known === undefined) {
      lines.set(wholeMs, line)
      Fiber.runIn(run(watching(wholeMs, line)), scope)
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

/** Asked `ms` after the work has begun: an answer in its place, or none. One that repeats is asked again after each `ms`. */
export interface Alarm<A> {
  readonly ms: number
  readonly repeats?: true
  readonly answer: Effect.Effect<Option.Option<A>>
}

/**
 * The end of work that nothing stops, in a fiber of the scope, or the first answer of an alarm before that. An interruption ends the wait for
 * it, where the wait can be interrupted; the work and its alarms go on. An alarm whose answer breaks gives its defect.
 */
export const withAlarms =
  (timer: Timer, scope: Scope.Scope) =>
  <A, E, R>(work: Effect.Effect<A, E, R>, alarms: ReadonlyArray<Alarm<A>>): Effect.Effect<A, E, R> =>
    Effect.contextWith((context: Context.Context<R>) => {
      const fork = Effect.runForkWith(context)
      return Effect.callback<A, E>((resume) => {
        const fiber = Fiber.runIn(fork(work, { uninterruptible: true }), scope)
        const exit = fiber.pollUnsafe()
        if (exit !== undefined) return resume(exit)
        const stops: Array<() => void> = []
        let isOver = false
        const end = (exit: Exit.Exit<A, E>) => {
          if (isOver) return
          isOver = true
          for (const stop of stops) stop()
          resume(exit)
        }
        const ask = (alarm: Alarm<A>, at: number) => {
          stops[at] = timer(alarm.ms, () => {
            Fiber.runIn(fork(alarm.answer), scope).addObserver((exit) => {
              if (Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)) end(Exit.failCause(exit.cause))
              else if (Exit.isSuccess(exit) && Option.isSome(exit.value)) end(Exit.succeed(exit.value.value))
              else if (alarm.repeats === true && !isOver) ask(alarm, at)
            })
          })
        }
        alarms.forEach(ask)
        fiber.addObserver(end)
      })
    })

/**
 * As `Effect.timeoutOrElse`, without a fiber of its own: the alarm interrupts the fiber that waits. Only where nothing else can be
 * interrupted until that fiber ends, because whatever can be is interrupted at once.
 */
export const interruptedAfter =
  (timer: Timer) =>
  <A, E, R, B, E2, R2>(
    effect: Effect.Effect<A, E, R>,
    ms: number,
    late: Effect.Effect<B, E2, R2>
  ): Effect.Effect<A | B, E | E2, R | R2> =>
    Effect.withFiber((fiber) => {
      let isLate = false
      const stop = timer(ms, () => {
        isLate = true
        fiber.interruptUnsafe()
      })
      return Effect.matchCauseEffect(Effect.interruptible(effect), {
        onSuccess: (value): Effect.Effect<A | B, E2, R2> => {
          stop()
          return isLate ? late : Effect.succeed(value)
        },
        onFailure: (cause): Effect.Effect<B, E | E2, R2> => {
          stop()
          return isLate && Cause.hasInterruptsOnly(cause) ? late : Effect.failCause(cause)
        }
      })
    })

/** Milliseconds of the monotonic clock, which cannot be set. */
export const elapsed: Effect.Effect<number> = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos) / NANOS_A_MS)
