import { Context, Effect, Layer, type Redacted, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { Ports } from "../../src/Ports.ts"
import { Database } from "../../src/persistence/Database.ts"
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
  yield* planOnce(url)
  const ports = Effect.orDie(Layer.build(Layer.fresh(Ports.layer({ databaseUrl: url, masterKey, policy }))))
  const first = yield* ports
  const second = yield* ports
  const sql = Context.get(first, SqlClient.SqlClient)
  const tables = yield* Effect.orDie(
    sql<{ name: string }>`SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1`
  )
  const names = tables.map(({ name }) => name).filter((name) => !KEPT.includes(name))
  const deletes = names.map((name) => `DELETE FROM ${name};`).join(" ")
  // Not TRUNCATE, after which every statement would be planned anew. Nothing refers to what is left, so that no order is needed.
  const clear = Effect.asVoid(
    Effect.orDie(sql.unsafe(`DO $$ BEGIN SET LOCAL session_replication_role = replica; ${deletes} END $$`))
  )
  return { ports: [first, second], clear }
})

/** The statements are the same in every story, and planning the large ones takes most of a database's time. */
const planOnce = (url: Redacted.Redacted) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      sql`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET plan_cache_mode = force_generic_plan', current_database()); END $$`
  ).pipe(Effect.provide(Database.layer({ url })), Effect.orDie)
