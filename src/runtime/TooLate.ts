import { Cause, Effect } from "effect"

/** What was to be known did not come in time to be relied on. A defect wherever something has begun. */
export class TooLate extends Error {}

/** For who has begun nothing yet. */
export const whereTooLate = <A, E, R, B, E2, R2>(
  effect: Effect.Effect<A, E, R>,
  orElse: (cause: Cause.Cause<never>) => Effect.Effect<B, E2, R2>
) =>
  Effect.catchDefect(
    effect,
    (defect): Effect.Effect<B, E2, R2> => (defect instanceof TooLate ? orElse(Cause.die(defect)) : Effect.die(defect))
  )
