import { Context, Effect } from "effect"

/** Why requests cannot be answered in that state, in one line. */
export const COMMITS_WAIT =
  "commits wait for a standby of the database that does not answer (synchronous_standby_names): see docs/runbooks/commits-waiting.md"

/** The value where commits are not watched, as in commands and in simulated scenarios. */
export const nobodyLooks: Effect.Effect<boolean> = Effect.succeed(false)

/**
 * Whether commits wait for a standby of the database that does not answer. A statement may then never end, and the outcome of a
 * commit is unknown. Read from memory; the watch updates it every second.
 */
export const CommitsWaiting = Context.Reference<Effect.Effect<boolean>>("gateway/services/ports/CommitsWaiting", {
  defaultValue: () => nobodyLooks
})
