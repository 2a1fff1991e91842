import { Clock, Context, Effect } from "effect"
import type { Instant } from "../domain/Instant.ts"

/**
 * The latest time that it may be. `Clock` is never ahead of the true time, which is right for "has this passed?". "Has too much
 * time passed?", on a machine that may have been suspended, must use this instead.
 */
export const LatestTime = Context.Reference<(clock: Clock.Clock) => Instant>("gateway/runtime/LatestTime", {
  defaultValue: () => (clock) => clock.currentTimeMillisUnsafe()
})

export const latestTime: Effect.Effect<Instant> = Effect.withFiber((fiber) =>
  Effect.succeed(fiber.getRef(LatestTime)(fiber.getRef(Clock.Clock)))
)

/** The deadline, by `LatestTime`, for sending what moves money; null where nothing is sent that does. */
export const LeavesBy = Context.Reference<Instant | null>("gateway/runtime/LeavesBy", { defaultValue: () => null })

/** Returns whether the deadline has passed. Call it just before the first byte is written: the steps before take any time. */
export const tooLateToLeave: Effect.Effect<() => boolean> = Effect.withFiber((fiber) => {
  const [leavesBy, latest, clock] = [fiber.getRef(LeavesBy), fiber.getRef(LatestTime), fiber.getRef(Clock.Clock)]
  return Effect.succeed(() => leavesBy !== null && latest(clock) > leavesBy)
})
