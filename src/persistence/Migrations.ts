import { createHash } from "node:crypto"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { advisoryLocks } from "./AdvisoryLocks.ts"
import { AnswerBoundMs } from "./BoundedClient.ts"
import { DatabaseError } from "./DatabaseError.ts"
import * as ledger from "./migrations/0001_ledger.ts"
import * as requests from "./migrations/0002_requests.ts"
import * as providers from "./migrations/0003_providers.ts"
import * as webhooks from "./migrations/0004_webhooks.ts"
import * as operators from "./migrations/0005_operators.ts"
import * as arrival from "./migrations/0006_arrival.ts"
import * as openStep from "./migrations/0007_open_step.ts"
import * as openSteps from "./migrations/0008_open_steps.ts"
import * as applyStep from "./migrations/0009_apply_step.ts"
import * as applySteps from "./migrations/0010_apply_steps.ts"
import * as operatorConsole from "./migrations/0011_console.ts"
import * as keptProposals from "./migrations/0012_kept_proposals.ts"

/** A part of the schema. Once released it never changes: what it became is in the checksum that the database keeps. */
export interface Migration {
  readonly name: string
  readonly sql: string
}

/** Waiting for another node's migration, and running one, take longer than a request may. */
const TIMEOUT_MS = 600_000
/** What PostgreSQL has not ended by itself by then, it will not. */
const ANSWER_MS = TIMEOUT_MS + 3_000
const QUOTE = "$gateway_migration$"
/** What the first part of the schema was called in every draft before the first release. */
const OF_DRAFTS = "0001_money"
const OF_A_DRAFT = "the database was made by a draft of this program before its first release"
/** Nothing upgrades a draft. */
const START_ANEW = "start with a new database or data folder"

export const Migrations = {
  /** In the order in which they are applied. */
  all: [
    ledger,
    requests,
    providers,
    webhooks,
    operators,
    arrival,
    openStep,
    openSteps,
    applyStep,
    applySteps,
    operatorConsole,
    keptProposals
  ] satisfies ReadonlyArray<Migration>,

  /** Applies what is missing, all in one commit, and answers its names. Refuses a database of a newer program, of a draft, and one that is not ours. */
  apply: (migrations: ReadonlyArray<Migration>): Effect.Effect<ReadonlyArray<string>, DatabaseError, SqlClient.SqlClient> =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      return yield* sql.withTransaction(missing(sql, migrations).pipe(Effect.flatMap((found) => run(sql, found))))
    }).pipe(
      Effect.provideService(AnswerBoundMs, ANSWER_MS),
      DatabaseError.explain("migrate the database"),
      Effect.withSpan("Migrations.apply")
    )
}

/** Why this program does not fit the schema as it is now, in one line; null where it does. A node that runs may be overtaken by a release. */
export const schemaObstacle = (sql: SqlClient.SqlClient): Effect.Effect<string | null, unknown> =>
  Effect.map(sql<{ name: string; checksum: string }>`SELECT name, checksum FROM schema_migrations`, (applied) => {
    const own = new Map(Migrations.all.map((migration) => [migration.name, checksumOf(migration)]))
    const fits = applied.length === own.size && applied.every(({ checksum, name }) => own.get(name) === checksum)
    return fits ? null : "the database's schema is of another release than this program: start that release here"
  })

/** A role that may not change the schema can do nothing from here but say who has to. */
const refuseOthers = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const [found] = yield* sql<{ may: boolean }>`
    SELECT coalesce(pg_has_role(c.relowner, 'USAGE'), has_schema_privilege(current_schema(), 'CREATE')) AS may
    FROM (SELECT to_regclass('schema_migrations') AS oid) s LEFT JOIN pg_class c ON c.oid = s.oid`
  if (found?.may === true) return
  return yield* new DatabaseError({
    message:
      "the database's schema is not this program's, and the role of DATABASE_URL may not change it: run `gateway migrate` with MIGRATION_DATABASE_URL first"
  })
})

/** Holds the migrations' lock from here to the end of the transaction. */
const missing = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, migrations: ReadonlyArray<Migration>) {
  yield* sql`SELECT set_config('lock_timeout', ${`${TIMEOUT_MS}ms`}, true), set_config('statement_timeout', ${`${TIMEOUT_MS}ms`}, true)`
  yield* sql`SELECT pg_advisory_xact_lock(${advisoryLocks.migrations})`
  const applied = yield* appliedBefore(sql)
  if (applied.some(({ name }) => name === OF_DRAFTS)) {
    return yield* new DatabaseError({ message: `${OF_A_DRAFT}: ${START_ANEW}` })
  }
  const known = new Set(migrations.map(({ name }) => name))
  for (const { name } of applied) {
    if (known.has(name)) continue
    return yield* new DatabaseError({
      message: `the database is newer than this program: it has ${name}; start the newer release`
    })
  }
  const checksums = new Map(applied.map(({ checksum, name }) => [name, checksum]))
  for (const migration of migrations) {
    const stored = checksums.get(migration.name)
    if (stored === undefined || stored === checksumOf(migration)) continue
    return yield* new DatabaseError({
      message: `${OF_A_DRAFT}, with another ${migration.name}: ${START_ANEW}, or start the program that made it`
    })
  }
  return migrations.filter(({ name }) => !checksums.has(name))
})

const appliedBefore = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  // What an extension brought along is nobody's schema.
  const [found] = yield* sql<{ ours: boolean; readable: boolean | null; occupied: boolean }>`
    SELECT
      EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('schema_migrations') AND attname = 'checksum') AS ours,
      has_table_privilege(to_regclass('schema_migrations')::oid, 'SELECT') AS readable,
      EXISTS (
        SELECT FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
        AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
      ) AS occupied`
  if (found?.readable !== true) yield* refuseOthers(sql)
  if (found?.ours === true) return yield* sql<{ name: string; checksum: string }>`SELECT name, checksum FROM schema_migrations`
  if (found?.occupied !== false) {
    return yield* new DatabaseError({
      message: "the database holds the tables of something else: give the gateway a database of its own"
    })
  }
  yield* sql`CREATE TABLE schema_migrations (name text PRIMARY KEY, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`
  return []
})

const run = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, migrations: ReadonlyArray<Migration>) {
  if (migrations.length > 0) yield* refuseOthers(sql)
  for (const migration of migrations) {
    // The driver sends one statement at a time; a DO block takes the whole text.
    yield* sql
      .unsafe(`DO $body$ BEGIN EXECUTE ${QUOTE}${migration.sql}${QUOTE}; END $body$`)
      .pipe(DatabaseError.explain(`apply ${migration.name}`))
    yield* sql`INSERT INTO schema_migrations (name, checksum) VALUES (${migration.name}, ${checksumOf(migration)})`
  }
  return migrations.map(({ name }) => name)
})

const checksumOf = ({ sql }: Migration): string => createHash("sha256").update(sql).digest("hex")
