import { Context, Effect } from "effect"
import type { Instant } from "../domain/Instant.ts"
import { latestTime } from "./LatestTime.ts"

/** Until when what moves money may leave this process, by `LatestTime`; null where nothing is sent that does. */
export const LeavesBy = Context.Reference<Instant | null>("gateway/runtime/LeavesBy", { defaultValue: () => null })

/** Answers whether it is too late by now. Asked where the first byte is about to be written: whatever came before may have taken any time. */
export const tooLateToLeave: Effect.Effect<() => boolean> = Effect.contextWith((context: Context.Context<never>) =>
  Effect.map(LeavesBy, (leavesBy) => () => leavesBy !== null && Effect.runSyncWith(context)(latestTime) > leavesBy)
)
