import { PgClient } from "@effect/sql-pg"
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Layer, type Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlError } from "effect/sql"
import { Distribution } from "../../../src/persistence/connection/Distribution.ts"
import { PartitionsPg } from "../../../src/persistence/schema/PartitionsPg.ts"
import { RuntimeRole } from "../../../src/persistence/schema/RuntimeRole.ts"
import { Partitions } from "../../../src/services/ports/Partitions.ts"
import { asRuntime } from "../../support/Postgres.ts"
import { givenDatabase } from "../../support/TestDatabase.ts"

const connection = (url: Redacted.Redacted) => PgClient.makeClient({ url }).pipe(Effect.provide(Reactivity.layer))
const ports = (sql: SqlClient.SqlClient) =>
  PartitionsPg.pipe(
    Layer.provide(Distribution.layer),
    Layer.provide(Layer.succeed(SqlClient.SqlClient, sql)),
    Layer.build,
    Effect.map(Context.get(Partitions))
  )

/** A migrated database, as its owner sees it and as a gateway does. */
const given = Effect.gen(function* () {
  const url = yield* givenDatabase
  return { owner: yield* connection(url), runtime: yield* connection(asRuntime(url)) }
})

/** The database's own words, or "done". */
const tried = (sql: SqlClient.SqlClient, statement: string): Effect.Effect<string> =>
  sql.unsafe(statement).pipe(
    (effect) => sql.withTransaction(effect),
    Effect.as("done"),
    Effect.catch(({ reason }: SqlError.SqlError) => Effect.succeed(reason.cause instanceof Error ? reason.cause.message : "?"))
  )

const tables = ["audit_log", "audit_head", "journal", "float_adjustments"]
const parts = ["journal_first", "journal_default"]

const forbidden: ReadonlyArray<string> = [
  ...[...tables, ...parts].flatMap((table) => [
    `UPDATE ${table} SET ${table.startsWith("audit") ? "sequence = 0" : "app_id = 'x'"}`,
    `DELETE FROM ${table}`,
    `TRUNCATE ${table}`,
    `ALTER TABLE ${table} DISABLE TRIGGER ALL`,
    `ALTER TABLE ${table} OWNER TO gateway_runtime`,
    `DROP TABLE ${table}`,
    `CREATE TRIGGER t BEFORE INSERT ON ${table} EXECUTE FUNCTION refuse_audit_change()`,
    `LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`
  ]),
  // Of the two views a row of the history could be written through, were it granted.
  ...["transaction_history", "postings"].flatMap((view) => [
    `UPDATE ${view} SET app_id = 'x'`,
    `DELETE FROM ${view}`,
    `ALTER VIEW ${view} OWNER TO gateway_runtime`,
    `DROP VIEW ${view}`
  ]),
  "INSERT INTO transaction_history (app_id) VALUES ('a')",
  "INSERT INTO audit_log VALUES (1, now(), 'a', 'b', 'c', '{}', '')",
  "INSERT INTO journal_default (app_id) VALUES ('a')",
  "ALTER TABLE journal DETACH PARTITION journal_default",
  "DROP TRIGGER audit_log_is_append_only ON audit_log",
  "DELETE FROM schema_migrations",
  "DELETE FROM vault_keys",
  "DELETE FROM transactions",
  ...[
    "tenants",
    "api_keys",
    "limits",
    "amount_caps",
    "ceilings",
    "denials",
    "corridors",
    "provider_switches",
    "operators",
    "console_proposals",
    "removed_operators",
    "revoked_keys",
    "tenant_directory"
  ].map((table) => `DELETE FROM ${table}`),
  "INSERT INTO operators SELECT 'biko', 'admin', token_hash, now() FROM operators",
  "UPDATE operators SET role = 'admin'",
  "UPDATE api_keys SET mode = 'live'",
  "UPDATE api_keys SET revoked_at = NULL",
  "UPDATE api_keys SET is_reader = false",
  "UPDATE api_keys SET addresses = '{}'",
  "INSERT INTO api_keys SELECT * FROM api_keys",
  "UPDATE tenants SET status = 'active'",
  "UPDATE tenants SET capabilities = '{payouts}', pinned_provider = 'mtn'",
  "INSERT INTO tenants SELECT * FROM tenants",
  "INSERT INTO tenant_directory VALUES ('x', 1)",
  "UPDATE limits SET count = 1000000",
  "INSERT INTO limits VALUES ('acme', 'live', 'payout', 'hour', 1000000)",
  "UPDATE ceilings SET amount_minor = 0",
  "INSERT INTO denials VALUES ('destination', '', '', '', now())",
  "UPDATE denials SET hash = ''",
  "UPDATE corridors SET providers = '{mtn}'",
  "INSERT INTO provider_switches VALUES ('mtn', true, '', now())",
  "INSERT INTO console_proposals SELECT * FROM console_proposals",
  "UPDATE console_proposals SET status = 'approved'",
  "UPDATE vault_keys SET purpose = 'gone'",
  "INSERT INTO vault_keys VALUES ('access_seals', '')",
  "SELECT change_access('ceiling set', '{}', 7, now(), 'a', 'b', 'c', '{}', '', '')",
  "UPDATE events SET body = ''",
  "SET ROLE gateway",
  "SET SESSION AUTHORIZATION gateway",
  "SET session_replication_role = replica",
  "CREATE TABLE mine ()",
  "CREATE FUNCTION audit_details(text, text) RETURNS jsonb LANGUAGE sql AS 'SELECT NULL::jsonb'",
  "CREATE ROLE another SUPERUSER",
  "COPY audit_log TO '/tmp/audit'",
  // What the functions of the owner are for can be done through them, and nothing else.
  "SELECT make_month('audit_log', '2031-01-01Z')",
  "SELECT make_month('journal', '2031-01-02Z')",
  "SELECT * FROM retire_month(now(), 5000)",
  "SELECT make_partition('journal', 'at', '2031-01-01Z', '2032-01-01Z')",
  "SELECT append_audit_row(7, now(), 'a', 'b', 'c', '{}', '', '', true)",
  "SELECT key_audit_head('', 'a', '')"
]

describe("the role that gateways run as", () => {
  it.effect("can neither change nor remove audit rows, journal, postings and history, nor become a role that can", () =>
    Effect.gen(function* () {
      const { owner, runtime } = yield* given
      // Keyed, as after the first start of a gateway.
      yield* owner`UPDATE audit_head SET mac = ''`
      const done = yield* Effect.filter(forbidden, (statement) =>
        Effect.map(tried(runtime, statement), (said) => said === "done")
      )
      expect(done).toEqual([])
      const reasons = yield* Effect.forEach(forbidden, (statement) => tried(runtime, statement))
      const other = reasons.filter(
        (said) =>
          !/permission denied|must be|cannot (update|delete from) view|is not parted|are kept|not the next|keyed already|null value in column/.test(
            said
          )
      )
      expect(other).toEqual([])
      // A grant of what one does not have is no error, and grants nothing.
      expect(yield* tried(runtime, "GRANT UPDATE ON audit_log TO gateway_runtime")).toBe("done")
      expect((yield* RuntimeRole.protection(runtime)).holds).toBe(true)
    })
  )

  it.effect("creates partitions of coming months and retires past ones", () =>
    Effect.gen(function* () {
      const { owner, runtime } = yield* given
      const partitions = yield* ports(runtime)
      const made = yield* partitions.prepare(Date.UTC(2091, 0, 15))
      expect(made).toHaveLength(8)
      expect(new Set(made.map(({ outcome }) => outcome))).toEqual(new Set(["made"]))
      yield* runtime`INSERT INTO journal (app_id, reference, revision, mode, at, actor, fact, note)
        VALUES ('a', 'R', 1, 'live', '2091-01-20Z', 'operator', 'Credited', '')`
      expect(yield* tried(runtime, "DELETE FROM journal")).toContain("permission denied")
      expect(yield* tried(runtime, "DELETE FROM journal_209101")).toContain("permission denied")
      expect(yield* partitions.retire(Date.UTC(2000, 0, 1))).toEqual([])
      expect(yield* RuntimeRole.protection(owner)).toEqual({ role: "gateway", holds: false })
      expect(yield* RuntimeRole.protection(runtime)).toEqual({ role: "gateway_runtime", holds: true })
    })
  )

  it.effect("is refused when it could do more than is granted, and is reported for it", () =>
    Effect.gen(function* () {
      const { owner, runtime } = yield* given
      const grant = (role: string) => Effect.flip(Effect.provideService(RuntimeRole.grant(role), SqlClient.SqlClient, owner))
      expect((yield* grant("gateway")).message).toContain("the role gateway could change more than is granted to it")
      const member = `member_${Math.floor(performance.now() * 1000)}`
      yield* owner.unsafe(`CREATE ROLE ${member} LOGIN NOINHERIT`)
      yield* owner.unsafe(`GRANT gateway TO ${member}`)
      expect((yield* grant(member)).message).toContain("it can become the owner")
      yield* owner.unsafe(`DROP ROLE ${member}`)
      // A schema of its own, which it could have come first for whoever logs in next, is more as well.
      const [at] = yield* owner<{ name: string }>`SELECT current_database()::text AS name`
      yield* owner.unsafe(`GRANT CREATE ON DATABASE "${at?.name}" TO gateway_runtime`)
      expect((yield* RuntimeRole.protection(runtime)).holds).toBe(false)
      yield* runtime`CREATE SCHEMA evil`
      expect((yield* grant("gateway_runtime")).message).toContain("in this schema or another")
      yield* runtime`DROP SCHEMA evil`
      yield* Effect.provideService(RuntimeRole.grant("gateway_runtime"), SqlClient.SqlClient, owner)
      expect((yield* RuntimeRole.protection(runtime)).holds).toBe(true)
    })
  )

  it.effect("is granted again what it needs, and loses whatever else was granted", () =>
    Effect.gen(function* () {
      const { owner, runtime } = yield* given
      yield* owner`GRANT UPDATE (actor) ON audit_log TO gateway_runtime`
      yield* owner`GRANT DELETE ON journal_first TO gateway_runtime`
      yield* owner`REVOKE INSERT ON journal FROM gateway_runtime`
      yield* owner`CREATE TABLE later (id int)`
      expect((yield* RuntimeRole.protection(runtime)).holds).toBe(false)
      yield* Effect.provideService(RuntimeRole.grant("gateway_runtime"), SqlClient.SqlClient, owner)
      expect((yield* RuntimeRole.protection(runtime)).holds).toBe(true)
      yield* runtime`INSERT INTO journal (app_id, reference, revision, mode, at, actor, fact, note)
        VALUES ('a', 'R', 1, 'live', now(), 'operator', 'Credited', '')`
      expect(yield* tried(runtime, "DELETE FROM transaction_history")).toContain("permission denied")
      yield* runtime`INSERT INTO later VALUES (1)`
      expect(yield* tried(runtime, "UPDATE audit_log SET actor = 'x'")).toContain("permission denied")
    })
  )
})
