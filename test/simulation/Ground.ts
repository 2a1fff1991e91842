import { Context, Effect, Layer, type Redacted, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { Ports } from "../../src/Ports.ts"
import { masterKey } from "../support/GivenDatabase.ts"
import { policy } from "../support/GivenMoney.ts"

export type Ready = Context.Context<Layer.Success<ReturnType<typeof Ports.layer>>>

/** Where stories are played, one after another: a migrated database, and for each node the production ports on connections of its own. */
export interface Ground {
  readonly ports: readonly [Ready, Ready]
  /** Takes away what the story before left. */
  readonly clear: Effect.Effect<void>
}

/** What no story writes, or what is the same in each; the audit log is append-only. */
const KEPT = ["schema_migrations", "vault_keys", "corridors", "audit_log", "audit_head"]

/**
 * Ports outlive a node's death: they hold connections, prepared statements and a few short caches, and opening them anew would take most
 * of a story's time. All that decides is in the services, which do die.
 */
export const makeGround = Effect.fnUntraced(function* (url: Redacted.Redacted): Effect.fn.Return<Ground, never, Scope.Scope> {
  const ports = Effect.orDie(Layer.build(Layer.fresh(Ports.layer({ databaseUrl: url, masterKey, policy }))))
  const first = yield* ports
  const second = yield* ports
  const sql = Context.get(first, SqlClient.SqlClient)
  const tables = yield* Effect.orDie(
    sql<{ name: string }>`SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1`
  )
  const names = tables.map(({ name }) => name).filter((name) => !KEPT.includes(name))
  const clear = Effect.asVoid(Effect.orDie(sql.unsafe(`TRUNCATE ${names.join(", ")} RESTART IDENTITY CASCADE`)))
  return { ports: [first, second], clear }
})
