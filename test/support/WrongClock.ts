import { type Clock, Effect } from "effect"

/** What waits by this clock does not wait. */
export const impatient = (clock: Clock.Clock): Clock.Clock => ({ ...offBy(clock, 0), sleep: () => Effect.void })

/** The clock of a machine that is off by so much. Nothing else about it is wrong. */
export const offBy = (clock: Clock.Clock, ms: number): Clock.Clock => clockOffBy(clock, () => ms)

/** The clock of a machine that somebody sets: off by as much as `set` was last given. */
export const settableClock = (clock: Clock.Clock) => {
  let off = 0
  return { clock: clockOffBy(clock, () => off), set: (ms: number) => Effect.sync(() => void (off = ms)) }
}

const clockOffBy = (clock: Clock.Clock, ms: () => number): Clock.Clock => {
  const millis = () => clock.currentTimeMillisUnsafe() + ms()
  const nanos = () => clock.currentTimeNanosUnsafe() + BigInt(ms()) * 1_000_000n
  return {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: clock.monotonicTimeNanos,
    sleep: (duration) => clock.sleep(duration)
  }
}
