import { Context, Effect } from "effect"

/** Why nothing can be answered then, in one line. */
export const COMMITS_WAIT =
  "commits wait for a standby of the database that does not answer (synchronous_standby_names): see docs/runbooks/commits-waiting.md"

/** The value where commits are not watched, as in a command and in the scenarios of the simulation. */
export const nobodyLooks: Effect.Effect<boolean> = Effect.succeed(false)

/**
 * Whether the database's commits wait for a standby that does not answer. A statement then may never end, and the outcome of a
 * commit is unknown. Read from memory, at most two seconds old.
 */
export const CommitsWaiting = Context.Reference<Effect.Effect<boolean>>("gateway/services/ports/CommitsWaiting", {
  defaultValue: () => nobodyLooks
})
