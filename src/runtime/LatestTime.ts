import { Clock, Context, Effect } from "effect"
import type { Instant } from "../domain/Instant.ts"

/**
 * The latest time that it may be. `Clock` is never ahead of the true time, which is right for "has this passed?". "Has too much time passed?",
 * after a machine that may have stood still, must ask this instead.
 */
export const LatestTime = Context.Reference<Effect.Effect<Instant>>("gateway/runtime/LatestTime", {
  defaultValue: () => Clock.currentTimeMillis
})

export const latestTime: Effect.Effect<Instant> = Effect.flatMap(LatestTime, (read) => read)
