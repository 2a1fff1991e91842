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

/** Until when what moves money may leave this process, by `LatestTime`; null where nothing is sent that does. */
export const LeavesBy = Context.Reference<Instant | null>("gateway/runtime/LeavesBy", { defaultValue: () => null })

/** Answers whether it is too late by now. Asked where the first byte is about to be written: whatever came before may have taken any time. */
export const tooLateToLeave: Effect.Effect<() => boolean> = Effect.contextWith((context: Context.Context<never>) =>
  Effect.map(LeavesBy, (leavesBy) => () => leavesBy !== null && Effect.runSyncWith(context)(latestTime) > leavesBy)
)
