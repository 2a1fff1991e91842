import { Clock, Effect } from "effect"

const NANOS_A_MS = 1_000_000

/** Milliseconds of the monotonic clock, which cannot be set. */
export const elapsed: Effect.Effect<number> = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos) / NANOS_A_MS)
