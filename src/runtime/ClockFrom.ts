import { type Clock, Effect } from "effect"

const NANOS_A_MS = 1_000_000n

/** A clock with the time of day that `nanos` says, nanoseconds since 1970; what passes and what is slept is the machine's. */
export const clockFrom = (machine: Clock.Clock, nanos: () => bigint): Clock.Clock => {
  const millis = () => Number(nanos() / NANOS_A_MS)
  return {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: () => machine.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: machine.monotonicTimeNanos,
    sleep: (duration) => machine.sleep(duration)
  }
}
