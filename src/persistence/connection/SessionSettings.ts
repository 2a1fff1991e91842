import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { DatabaseError } from "./DatabaseError.ts"
import { rowsOf } from "./Rows.ts"

/** PostgreSQL ends a statement that takes longer. */
export const STATEMENT_TIMEOUT_MS = 15_000

/** The settings that every session requests when it begins, in the form in which PostgreSQL shows them. */
export const sessionSettings: Readonly<Record<string, string>> = {
  // Waiting longer for a lock means that its holder is broken.
  lock_timeout: "5s",
  statement_timeout: `${STATEMENT_TIMEOUT_MS / 1000}s`,
  // A transaction whose node stopped responding releases its locks after this.
  idle_in_transaction_session_timeout: "10s",
  // A plan made while a table was small would keep scanning it sequentially until the next ANALYZE.
  enable_seqscan: "off",
  // Statements are short, and compiling one takes longer than running it.
  jit: "off",
  TimeZone: "UTC"
}

const rows = rowsOf(Schema.Struct({ name: Schema.String, value: Schema.String, role: Schema.String }))

/**
 * Refuses settings that a role can change for itself, and so for all its log-ins: the search path. The database's owner sets it
 * for the database. Locks, and the reads after them, rely on READ COMMITTED.
 */
const ofRole = rowsOf(Schema.Struct({ setting: Schema.String }))
const ownSettings = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const [found] = yield* ofRole(sql`
    SELECT setting FROM pg_db_role_setting s CROSS JOIN unnest(s.setconfig) AS setting
    WHERE s.setrole = (SELECT oid FROM pg_roles WHERE rolname = session_user) AND s.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
      AND split_part(setting, '=', 1) = 'search_path'
    UNION ALL SELECT 'default_transaction_isolation=' || level FROM current_setting('default_transaction_isolation') AS level
    WHERE level <> 'read committed'`)
  if (found === undefined) return
  return yield* new DatabaseError(
    `sessions begin with ${found.setting}, which no gateway works with: find it in pg_db_role_setting and RESET it. A schema that is not public is set for the database (ALTER DATABASE), not for the role`
  )
})

/** Fails when sessions do not have their settings: a pooler may ignore the requested ones. The role must then set them. */
export const settingsHold = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  yield* ownSettings(sql)
  const names = Object.keys(sessionSettings)
  const found = yield* rows(
    sql`SELECT name, current_setting(name) AS value, session_user::text AS role FROM unnest(${names}::text[]) AS name`
  )
  const lost = found.filter(({ name, value }) => value !== sessionSettings[name])
  const [first] = lost
  if (first === undefined) return
  const have = lost.map(({ name, value }) => `${name} = ${value}`).join(", ")
  const role = `"${first.role.replaceAll('"', '""')}"`
  const set = lost.map(({ name }) => `ALTER ROLE ${role} SET ${name} = '${sessionSettings[name]}'`).join("; ")
  return yield* new DatabaseError(
    `sessions do not have what the gateway asked for (${have}), because of a pooler in between: set it for the role with ${set}`
  )
})
