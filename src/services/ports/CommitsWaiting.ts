import { Context, Effect } from "effect"

/** Why nothing can be answered then, in one line. */
export const COMMITS_WAIT =
  "commits wait for a standby of the database that does not answer (synchronous_standby_names): see docs/runbooks/commits-waiting.md"

/** The answer where nobody looks, as in a command and in the stories of the simulation. */
export const nobodyLooks: Effect.Effect<boolean> = Effect.succeed(false)

/**
 * Whether the database's commits wait for a standby that does not answer. What is asked of the database then has no end, and nobody knows of a
 * commit whether it will hold. Known without asking the database, at most two seconds old.
 */
export const CommitsWaiting = Context.Reference<Effect.Effect<boolean>>("gateway/services/ports/CommitsWaiting", {
  defaultValue: () => nobodyLooks
})
