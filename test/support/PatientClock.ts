import { Clock, Duration, Effect } from "effect"

/** How often this process looks at the time, and the most that passes between two looks. */
const LOOK_MS = 10
const TURN_MS = 2 * LOOK_MS
const NANOS_A_MS = 1_000_000n

const system = Effect.runSync(Effect.service(Clock.Clock))

/** A clock that begins now, and looks at the system's for as long as the process lives. */
const started = () => {
  let passed = 0n
  let seen = system.monotonicTimeNanosUnsafe()
  const sinceSeen = (): bigint => {
    const since = system.monotonicTimeNanosUnsafe() - seen
    const most = BigInt(TURN_MS) * NANOS_A_MS
    return since < most ? since : most
  }
  setInterval(() => {
    passed += sinceSeen()
    seen = system.monotonicTimeNanosUnsafe()
  }, LOOK_MS).unref()
  return (): bigint => passed + sinceSeen()
}

const passed = started()

/**
 * What passes by this clock is the time in which this process could have received an answer: while it waits for a processor, or is
 * busy with other things, its time stands still. So a deadline that is short, because a test waits for it to pass, passes only where
 * no answer comes, however busy the machine. The time of day is the system's.
 */
export const patientClock: Clock.Clock = {
  currentTimeMillisUnsafe: () => system.currentTimeMillisUnsafe(),
  currentTimeMillis: system.currentTimeMillis,
  currentTimeNanosUnsafe: () => system.currentTimeNanosUnsafe(),
  currentTimeNanos: system.currentTimeNanos,
  monotonicTimeNanosUnsafe: passed,
  monotonicTimeNanos: Effect.sync(passed),
  sleep: (duration) => {
    const ms = Duration.toMillis(duration)
    if (!(ms > 0 && Number.isFinite(ms))) return system.sleep(duration)
    return Effect.suspend(() => sleepUntil(passed() + BigInt(Math.ceil(ms)) * NANOS_A_MS))
  }
}

const sleepUntil = Effect.fnUntraced(function* (until: bigint) {
  for (let left = until - passed(); left > 0n; left = until - passed())
    yield* system.sleep(Duration.millis(Math.ceil(Number(left) / Number(NANOS_A_MS))))
})

/** By that clock, unless somebody has given another one. */
export const patiently = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.updateService(effect, Clock.Clock, (clock) => (clock === system ? patientClock : clock))

/** Milliseconds of that clock, since this process began to look at it. */
export const workedMs = (): number => Number(passed() / NANOS_A_MS)

/** As `AbortSignal.timeout`. */
export const abortedAfter = (ms: number): AbortSignal => {
  const controller = new AbortController()
  Effect.runFork(
    Effect.andThen(
      patientClock.sleep(Duration.millis(ms)),
      Effect.sync(() => controller.abort())
    )
  )
  return controller.signal
}
