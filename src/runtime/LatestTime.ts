import { Clock, Context, Effect } from "effect"
import type { Instant } from "../domain/Instant.ts"

/**
 * The latest time that it may be. `Clock` is never ahead, which is right for whatever has to have passed; whoever asks whether too much time
 * has passed, after a machine that may have stood still, asks this.
 */
export const LatestTime = Context.Reference<Effect.Effect<Instant>>("gateway/runtime/LatestTime", {
  defaultValue: () => Clock.currentTimeMillis
})

export const latestTime: Effect.Effect<Instant> = Effect.flatMap(LatestTime, (read) => read)
