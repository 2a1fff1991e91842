import { Cause, Effect } from "effect"

/**
 * The database answered a read too late for the answer to be relied on. It is a defect: a request that has changed something fails with it.
 */
export class TooLate extends Error {}

/** Runs `orElse` instead of that defect. Only for a request that has changed nothing yet. */
export const whereTooLate = <A, E, R, B, E2, R2>(
  effect: Effect.Effect<A, E, R>,
  orElse: (cause: Cause.Cause<never>) => Effect.Effect<B, E2, R2>
) =>
  Effect.catchDefect(
    effect,
    (defect): Effect.Effect<B, E2, R2> => (defect instanceof TooLate ? orElse(Cause.die(defect)) : Effect.die(defect))
  )
