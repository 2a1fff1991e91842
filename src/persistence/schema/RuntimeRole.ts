import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { AuditProtection } from "../../services/ports/GatewayStatus.ts"
import { advisoryLocks } from "../connection/AdvisoryLocks.ts"
import { DatabaseError } from "../connection/DatabaseError.ts"
import { rowsOf } from "../connection/Rows.ts"

/**
 * To lock a row, a role must be allowed to update one of its columns: for tenants a column that does not affect their rights,
 * one of which the master key rotation seals again.
 */
type Privilege = "SELECT" | "INSERT" | "UPDATE" | "DELETE" | `UPDATE (${string})`

/** Tables of which a gateway may never change or remove a row: what was done, and by whom. A right on a view extends to them. */
const evidence = ["audit_log", "audit_head", "journal", "postings", "transaction_history", "float_adjustments"]

const everything: ReadonlyArray<Privilege> = ["SELECT", "INSERT", "UPDATE", "DELETE"]
/** The gateways' rights on each table; on any other all rights on rows. The audit log is written through functions. */
const privileges: Readonly<Record<string, ReadonlyArray<Privilege>>> = {
  audit_log: ["SELECT"],
  audit_head: ["SELECT"],
  schema_migrations: ["SELECT"],
  schema_functions: ["SELECT"],
  journal: ["SELECT", "INSERT"],
  float_adjustments: ["SELECT", "INSERT"],
  events: ["SELECT", "INSERT", "DELETE"],
  tenant_changes: ["SELECT", "INSERT", "DELETE"],
  transactions: ["SELECT", "INSERT", "UPDATE"],
  metadata_members: ["SELECT", "INSERT"],
  provider_references: ["SELECT", "INSERT"],
  float_positions: ["SELECT", "INSERT", "UPDATE"],
  account_claims: ["SELECT", "INSERT"],
  clock_watch: ["SELECT", "UPDATE"],
  // Access is changed through change_access only.
  tenants: ["SELECT", "UPDATE (created_at, sender_sealed)"],
  tenant_directory: ["SELECT"],
  api_keys: ["SELECT", "UPDATE (signing_secret_sealed, last_used_at)"],
  limits: ["SELECT"],
  amount_caps: ["SELECT"],
  ceilings: ["SELECT"],
  denials: ["SELECT"],
  corridors: ["SELECT"],
  provider_switches: ["SELECT"],
  operators: ["SELECT"],
  removed_operators: ["SELECT"],
  revoked_keys: ["SELECT"],
  console_proposals: ["SELECT"],
  vault_keys: ["SELECT", "UPDATE (sealed)"]
}

/** They run with the owner's rights, and each does one thing. */
const functions = [
  "audit_head_locked()",
  "append_audit_row(bigint, timestamptz, text, text, text, text, bytea, bytea, boolean)",
  "key_audit_head(bytea, text, bytea)",
  "change_access(text, json, bigint, timestamptz, text, text, text, text, bytea, bytea)",
  "hold_proposals(text, text)",
  "end_proposal(text)",
  "seal_access(bytea, json)",
  "make_month(text, timestamptz)",
  "retire_month(timestamptz, int)"
]

const relations = rowsOf(
  Schema.Struct({
    name: Schema.String,
    isPart: Schema.Boolean,
    isView: Schema.Boolean,
    isOnCitus: Schema.Boolean,
    held: Schema.Array(Schema.String)
  })
)
const counted = rowsOf(Schema.Struct({ missing: Schema.Number, hasMore: Schema.Boolean }))
const protections = rowsOf(Schema.Struct({ role: Schema.String, holds: Schema.Boolean }))

/** Privileges on single columns count, too: one column that may be changed is enough to change a row. */
const HELD = `array_remove(ARRAY[
  CASE WHEN has_any_column_privilege($1, c.oid, 'SELECT') THEN 'SELECT' END,
  CASE WHEN has_any_column_privilege($1, c.oid, 'INSERT') THEN 'INSERT' END,
  CASE WHEN has_table_privilege($1, c.oid, 'UPDATE') THEN 'UPDATE'
    ELSE (SELECT 'UPDATE (' || string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) || ')' FROM pg_attribute a
      WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND has_column_privilege($1, c.oid, a.attnum, 'UPDATE')) END,
  CASE WHEN has_table_privilege($1, c.oid, 'DELETE') THEN 'DELETE' END,
  CASE WHEN has_table_privilege($1, c.oid, 'TRUNCATE') THEN 'TRUNCATE' END,
  CASE WHEN has_table_privilege($1, c.oid, 'TRIGGER') THEN 'TRIGGER' END], NULL)`

const relationsStatement = `
  SELECT c.relname::text AS name, c.relispartition AS "isPart", c.relkind = 'v' AS "isView",
    EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') AS "isOnCitus", ${HELD} AS held
  FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'v') ORDER BY 1`

/** In its own schema it could shadow our tables, for whichever role logs in next. */
const MAKES = `has_database_privilege(ROLE, current_database(), 'CREATE') OR EXISTS (SELECT FROM pg_namespace n
      WHERE has_schema_privilege(ROLE, n.oid, 'CREATE') AND n.nspname !~ '^pg_(toast_)?temp_')`

const othersStatement = `
  SELECT ((SELECT count(*) FROM unnest($2::text[]) AS f(name) WHERE NOT has_function_privilege($1, f.name::regprocedure, 'EXECUTE'))
    + (SELECT count(*) FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace
      AND CASE WHEN c.relkind = 'S' THEN NOT has_sequence_privilege($1, c.oid, 'USAGE') END)
    + (NOT has_schema_privilege($1, current_schema(), 'USAGE'))::int)::int AS missing,
    ${MAKES.replaceAll("ROLE", "$1")}
      OR EXISTS (SELECT FROM pg_class c WHERE c.oid = 'audit_log'::regclass AND pg_has_role($1, c.relowner, 'MEMBER'))
      OR EXISTS (SELECT FROM pg_roles r WHERE r.rolname = $1 AND (r.rolsuper OR r.rolcreaterole)) AS "hasMore"`

interface Relation {
  readonly name: string
  readonly isPart: boolean
  readonly isView: boolean
  readonly isOnCitus: boolean
  readonly held: ReadonlyArray<string>
}

/** A partition is written through its table, a view through its tables. Citus passes no rights on single columns to workers. */
const privilegesFor = ({ isOnCitus, isPart, isView, name }: Relation): ReadonlyArray<string> => {
  if (isPart || isView) return ["SELECT"]
  const wanted = privileges[name] ?? everything
  return isOnCitus ? wanted.map((privilege) => privilege.replace(/ \(.*/, "")) : wanted
}

const hasWrongPrivileges = (relation: Relation): boolean =>
  [...relation.held].sort().join() !== [...privilegesFor(relation)].sort().join()

const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`

export const RuntimeRole = {
  /**
   * Run as the owner of the tables, on a migrated schema: gives the role exactly the rights that a gateway needs. Changes
   * nothing when it has them. Refuses a role that could do more whatever is granted to it.
   */
  grant: (role: string): Effect.Effect<void, DatabaseError, SqlClient.SqlClient> =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql.withTransaction(grantTo(sql, role))
    }).pipe(DatabaseError.explain(`let ${role} run a gateway`), Effect.withSpan("RuntimeRole.grant")),

  /** Whether the connection's own role could change evidence. The database decides, whatever the settings are. */
  protection: (sql: SqlClient.SqlClient): Effect.Effect<AuditProtection> =>
    Effect.flatMap(
      protections(sql`
        SELECT session_user::text AS role, NOT (
          r.rolsuper OR r.rolcreaterole OR ${sql.literal(MAKES.replaceAll("ROLE", "session_user"))}
          OR pg_has_role(session_user, 'pg_write_server_files', 'MEMBER') OR pg_has_role(session_user, 'pg_execute_server_program', 'MEMBER')
          OR EXISTS (
            SELECT FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
            LEFT JOIN pg_class p ON p.oid = i.inhparent
            WHERE c.relnamespace = current_schema()::regnamespace AND coalesce(p.relname, c.relname) = ANY (${evidence})
              AND c.relkind IN ('r', 'p', 'v')
              AND (pg_has_role(session_user, c.relowner, 'MEMBER') OR has_any_column_privilege(session_user, c.oid, 'UPDATE')
                OR has_table_privilege(session_user, c.oid, 'DELETE, TRUNCATE, TRIGGER'))
          )
        ) AS holds
        FROM pg_roles r WHERE r.rolname = session_user`),
      ([found]) => (found === undefined ? Effect.die(new Error("the role of this session is not known")) : Effect.succeed(found))
    )
}

const grantTo = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, role: string) {
  yield* sql`SELECT pg_advisory_xact_lock(${advisoryLocks.migrations})`
  const read = relations(sql.unsafe(relationsStatement, [role]))
  const [others] = yield* counted(sql.unsafe(othersStatement, [role, functions]))
  const off = (yield* read).filter(hasWrongPrivileges)
  if (off.length === 0 && others?.missing === 0 && !others.hasMore) return
  const to = quoteName(role)
  const [at] = yield* sql<{
    schema: string
    name: string
  }>`SELECT current_schema()::text AS schema, current_database()::text AS name`
  const schema = quoteName(at?.schema ?? "public")
  yield* sql.unsafe(`REVOKE CREATE ON SCHEMA ${schema} FROM PUBLIC, ${to}`)
  yield* sql.unsafe(`REVOKE CREATE ON DATABASE ${quoteName(at?.name ?? "")} FROM ${to}`)
  yield* sql.unsafe(`GRANT USAGE ON SCHEMA ${schema} TO ${to}`)
  for (const relation of off) {
    yield* sql.unsafe(`REVOKE ALL ON ${quoteName(relation.name)} FROM ${to}`)
    yield* sql.unsafe(`GRANT ${privilegesFor(relation).join(", ")} ON ${quoteName(relation.name)} TO ${to}`)
  }
  yield* sql.unsafe(`GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${schema} TO ${to}`)
  for (const one of functions) yield* sql.unsafe(`GRANT EXECUTE ON FUNCTION ${one} TO ${to}`)
  const still = (yield* read).find(hasWrongPrivileges)
  const [left] = yield* counted(sql.unsafe(othersStatement, [role, functions]))
  if (still !== undefined || left?.hasMore !== false)
    return yield* new DatabaseError(
      `the role ${role} could change more than is granted to it (${still?.name ?? "it can become the owner, or make tables beside ours, in this schema or another"}): it is a superuser, owns the tables, or is a member of a role that may. Give DATABASE_URL a role of its own`
    )
})
