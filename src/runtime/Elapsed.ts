import { Clock, Effect } from "effect"

const NANOS_A_MS = 1_000_000

/** Milliseconds of a clock that nobody can set. */
export const elapsed: Effect.Effect<number> = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos) / NANOS_A_MS)
