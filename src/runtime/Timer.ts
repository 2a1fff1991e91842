import { Cause, Clock, type Context, Effect, Exit, Fiber, Option, type Scope } from "effect"

/** Calls `fire` once after `ms`, rounded up to a whole number, unless the returned function is called first. */
export type Timer = (ms: number, fire: () => void) => () => void

const NANOS_A_MS = 1_000_000

interface Waiting {
  readonly at: number
  readonly fire: () => void
}

/**
 * Timers that live as long as the scope. All timers of one length share one sleeping fiber, because they fire in the order in
 * which they were set. Most are cancelled long before: a fiber for each would cost more than the work that it limits.
 */
export const makeTimer: Effect.Effect<Timer, never, Scope.Scope> = Effect.gen(function* () {
  const now = yield* monotonicClock
  const scope = yield* Effect.scope
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const lines = new Map<number, Set<Waiting>>()

  const watching = Effect.fnUntraced(function* (ms: number, line: Set<Waiting>) {
    // An iterator that stays open would hold every timer that was cancelled since it was opened.
    for (let [first] = line; first !== undefined; [first] = line) {
      // The platform's timers drop the fraction, and may fire early by it.
      for (let left = first.at - now(); left > 0; left = first.at - now()) yield* Effect.sleep(Math.ceil(left))
      if (!line.delete(first)) continue
      // A callback that throws must not stop those after it.
      const exit = yield* Effect.exit(Effect.sync(first.fire))
      if (Exit.isFailure(exit)) yield* Effect.logError("a timer callback failed", exit.cause)
    }
    // In the same turn in which the line was found empty: a timer that joined it later would never fire.
    lines.delete(ms)
  })

  return (ms, fire) => {
    // A call's remaining time has a unique fraction: without rounding, each call would have its own sleeping fiber.
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

/** As `Effect.timeoutOrElse`: an effect that is late is interrupted, and `late` runs instead. */
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

/** The exit of a fiber that is not stopped when it is late: `late` runs instead. */
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

/** Runs `ms` after the work has begun, and may return an answer instead of the work's. With `repeats` it runs again every `ms`. */
export interface Alarm<A> {
  readonly ms: number
  readonly repeats?: true
  readonly answer: Effect.Effect<Option.Option<A>>
}

/**
 * The exit of work that nothing stops, in a fiber of the scope, or the first answer of an alarm before that. An interruption
 * ends only the wait; the work and its alarms continue. If an alarm dies, the wait ends with its defect.
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
 * As `Effect.timeoutOrElse`, without an extra fiber: the alarm interrupts the waiting fiber. Use it only where nothing else can
 * be interrupted until that fiber ends, because everything interruptible is interrupted at once.
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

export const monotonicMs = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe()) / NANOS_A_MS

/** Milliseconds of the monotonic clock, which cannot be set. */
export const elapsed: Effect.Effect<number> = Effect.clockWith((clock) => Effect.succeed(monotonicMs(clock)))

/** The same as a function, for what is built once and reads it in every request. */
export const monotonicClock: Effect.Effect<() => number> = Effect.map(Clock.Clock, (clock) => () => monotonicMs(clock))
