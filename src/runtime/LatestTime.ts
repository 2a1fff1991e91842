import { Clock, Context, Effect } from "effect"
import type { Instant } from "../domain/Instant.ts"

/**
 * The latest time that it may be. `Clock` is never ahead of the true time, which is right for "has this passed?". "Has too much
 * time passed?", on a machine that may have been suspended, must use this instead.
 */
export const LatestTime = Context.Reference<Effect.Effect<Instant>>("gateway/runtime/LatestTime", {
  defaultValue: () => Clock.currentTimeMillis
})

export const latestTime: Effect.Effect<Instant> = Effect.flatMap(LatestTime, (read) => read)

/** The deadline, by `LatestTime`, for sending what moves money; null where nothing is sent that does. */
export const LeavesBy = Context.Reference<Instant | null>("gateway/runtime/LeavesBy", { defaultValue: () => null })

/** Returns whether the deadline has passed. Call it just before the first byte is written: the steps before take any time. */
export const tooLateToLeave: Effect.Effect<() => boolean> = Effect.contextWith((context: Context.Context<never>) =>
  Effect.map(LeavesBy, (leavesBy) => () => leavesBy !== null && Effect.runSyncWith(context)(latestTime) > leavesBy)
)
