import { Context, Effect } from "effect"

/** Why no server of the database can be written to, in one line; null where one can. Told without asking any. */
export const NoPrimary = Context.Reference<Effect.Effect<string | null>>("gateway/persistence/servers/NoPrimary", {
  defaultValue: () => Effect.succeed(null)
})
