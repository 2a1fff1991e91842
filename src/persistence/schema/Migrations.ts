import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { AnswerBoundMs } from "../connection/BoundedClient.ts"
import { DatabaseError } from "../connection/DatabaseError.ts"
import { SessionPooling } from "../connection/SessionPooling.ts"
import { type FunctionFile, functionFiles } from "./FunctionFiles.ts"
import { checksumOf, inOneStatement, isOfBase, type Migration } from "./Migration.ts"
import { migrationList } from "./MigrationList.ts"
import { inMigrationTransaction, MIGRATION_MS, withMigrationLock } from "./MigrationLock.ts"
import { runSteps, shortTransaction } from "./MigrationSteps.ts"
import { SchemaFunctions } from "./SchemaFunctions.ts"

// Effect's Migrator runs each migration in one transaction. On a database in use ours are steps: an index is built while rows
// are written, and when a process dies the next one continues.

/** A statement that PostgreSQL has not ended by then has hung. */
const ANSWER_MS = MIGRATION_MS + 3_000

const BEHIND_A_POOLER =
  "a pooler stands in between, and an index is built by one session: migrate with a direct MIGRATION_DATABASE_URL"

/** A program's migrations and function files. */
interface Own {
  readonly migrations: ReadonlyArray<Migration>
  readonly functions: ReadonlyArray<FunctionFile>
}

export const Migrations = {
  all: migrationList,

  /**
   * Applies what is missing and returns its names: the base in one commit, each later step separately, then the functions.
   * Refuses a database that needs a newer program, one of a draft, and one that is not ours. A database of a newer release that
   * this program can run on is left alone.
   */
  apply: (
    migrations: ReadonlyArray<Migration>,
    functions: ReadonlyArray<FunctionFile> = []
  ): Effect.Effect<ReadonlyArray<string>, DatabaseError, SqlClient.SqlClient> =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const own = { migrations, functions }
      const applied = yield* applyMissing(sql, own)
      yield* tellForeign(yield* SchemaFunctions.foreignSettings(sql, own.functions, yield* readApplied(sql)))
      return applied
    }).pipe(
      Effect.provideService(AnswerBoundMs, ANSWER_MS),
      DatabaseError.explain("migrate the database"),
      Effect.withSpan("Migrations.apply")
    ),

  /** How the schema and this program fit together. */
  standing: (sql: SqlClient.SqlClient) => standingOf(sql, { migrations: migrationList, functions: functionFiles }),

  /** Why this program does not fit the schema, in one line; null when it does. A newer release may migrate while a node runs. */
  obstacle: (sql: SqlClient.SqlClient): Effect.Effect<Effect.Effect<string | null, unknown>, DatabaseError> =>
    Effect.gen(function* () {
      const standing = Migrations.standing(sql)
      let logged = (yield* standing).newer.length
      return Effect.gen(function* () {
        const { missing, newer, obstacle } = yield* standing
        if (newer.length > logged) yield* tellNewer(newer)
        logged = newer.length
        if (obstacle !== null) return obstacle
        return missing.length === 0 ? null : `the database's schema lacks ${missing.join(", ")}: run \`gateway migrate\``
      })
    }).pipe(DatabaseError.explain("read which migrations the database has"))
}

const applyMissing = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, own: Own) {
  if ((yield* missing(sql, own)).length === 0) return []
  yield* refuseOthers(sql)
  const ofBase = yield* inMigrationTransaction(sql, applyBase(sql, own))
  if ((yield* missing(sql, own)).length === 0) return ofBase
  // Behind a pooler, the settings of a step, such as hours for an index, would reach another transaction and not the step.
  if (yield* yield* SessionPooling) return yield* new DatabaseError(BEHIND_A_POOLER)
  const later = Effect.zipWith(applyStepped(sql, own), applyFunctions(sql, own), (steps, files) => [...steps, ...files])
  return [...ofBase, ...(yield* withMigrationLock(sql, later))]
})

/** A role that may not change the schema can only say who has to. */
const refuseOthers = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const [found] = yield* sql<{ may: boolean }>`
    SELECT coalesce(pg_has_role(c.relowner, 'USAGE'), has_schema_privilege(current_schema(), 'CREATE')) AS may
    FROM (SELECT to_regclass('schema_migrations') AS oid) s LEFT JOIN pg_class c ON c.oid = s.oid`
  if (found?.may === true) return
  return yield* new DatabaseError(
    "the database's schema is not this program's, and the role of DATABASE_URL may not change it: run `gateway migrate` with MIGRATION_DATABASE_URL first"
  )
})

const standingOf = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, own: Own) {
  return yield* withFunctions(sql, own, yield* readApplied(sql))
})

const withFunctions = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, own: Own, applied: ReadonlyArray<AppliedMigration>) {
  const files = yield* SchemaFunctions.readApplied(sql, applied)
  const standing = schemaState(applied, own.migrations)
  return {
    ...standing,
    obstacle: standing.obstacle ?? SchemaFunctions.obstacle(own.functions, files),
    missing: [...standing.missing, ...SchemaFunctions.titles(SchemaFunctions.behind(own.functions, files))],
    newer: [...standing.newer, ...SchemaFunctions.titles(SchemaFunctions.ahead(own.functions, files))]
  }
})

/** The names of what is missing or was changed since it was applied. */
const missing = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, own: Own) {
  const applied = (yield* appliedBefore(sql)) ?? []
  const standing = yield* withFunctions(sql, own, applied)
  if (standing.obstacle !== null) return yield* new DatabaseError(standing.obstacle)
  const replaced = SchemaFunctions.titles(yield* SchemaFunctions.replaced(sql, own.functions, applied))
  const all = [...standing.missing, ...replaced]
  if (all.length === 0) yield* tellNewer(standing.newer)
  return all
})

const missingMigrations = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, own: Own) {
  const names = yield* missing(sql, own)
  return own.migrations.filter(({ name }) => names.includes(name))
})

/** Null on an empty database. */
const appliedBefore = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  // Objects that an extension brought do not count.
  const [found] = yield* sql<{ ours: boolean; draft: boolean; readable: boolean | null; occupied: boolean }>`
    SELECT
      EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('schema_migrations') AND attname = 'needs') AS ours,
      EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('schema_migrations') AND attname = 'checksum') AS draft,
      has_table_privilege(to_regclass('schema_migrations')::oid, 'SELECT') AS readable,
      EXISTS (
        SELECT FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
        AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
      ) AS occupied`
  if (found?.readable !== true) yield* refuseOthers(sql)
  if (found?.ours === true) return yield* readApplied(sql)
  if (found?.draft === true) return yield* new DatabaseError(MADE_BY_A_DRAFT)
  if (found?.occupied === false) return null
  return yield* new DatabaseError("the database holds the tables of something else: give the gateway a database of its own")
})

/** `reached`: how far a step of batches has come. */
const table = `CREATE TABLE schema_migrations (
  name text PRIMARY KEY,
  checksum text NOT NULL,
  needs text,
  steps_done int NOT NULL,
  reached text NOT NULL DEFAULT '',
  applied_at timestamptz
)`

const applyBase = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, own: Own) {
  if ((yield* appliedBefore(sql)) === null) yield* sql.unsafe(table)
  const found = (yield* missingMigrations(sql, own)).filter(isOfBase)
  for (const migration of found) {
    yield* sql.unsafe(inOneStatement(migration.sql)).pipe(DatabaseError.explain(`apply ${migration.name}`))
    yield* sql`INSERT INTO schema_migrations (name, checksum, steps_done, applied_at) VALUES (${migration.name}, ${checksumOf(migration)}, 1, now())`
  }
  return found.map(({ name }) => name)
})

const applyStepped = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, own: Own) {
  const found = yield* missingMigrations(sql, own)
  for (const migration of found) if (!isOfBase(migration)) yield* runSteps(sql, migration, own.functions)
  return found.map(({ name }) => name)
})

/** In one transaction, so that a caller finds all functions old or all new. */
const applyFunctions = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, { functions }: Own) {
  const migrations = yield* readApplied(sql)
  const behind = SchemaFunctions.behind(functions, yield* SchemaFunctions.readApplied(sql, migrations))
  const replaced = yield* SchemaFunctions.replaced(sql, functions, migrations)
  const due = functions.filter((file) => behind.includes(file) || replaced.includes(file))
  if (due.length === 0) return []
  if (replaced.length > 0)
    yield* Effect.annotateLogs(
      Effect.logWarning("functions of the database are not known to be as they were put, and are put again"),
      {
        migrations: SchemaFunctions.titles(replaced).join(", ")
      }
    )
  yield* shortTransaction(sql, Effect.andThen(SchemaFunctions.put(sql, due), SchemaFunctions.keep(sql, due, migrations)))
  return SchemaFunctions.titles(due)
})

interface AppliedMigration {
  readonly name: string
  readonly checksum: string
  readonly needs: string | null
  /** False while some of its steps are not done. */
  readonly isComplete: boolean
}

/** How the database's schema and a program fit together. */
interface SchemaState {
  /** Why the program cannot work on it, whatever is applied, in one line. */
  readonly obstacle: string | null
  /** Parts of the program that the database lacks, at least partly. */
  readonly missing: ReadonlyArray<string>
  /** Parts of a newer release in the database, with which the program can run. */
  readonly newer: ReadonlyArray<string>
  /** Parts that the database has only partly, whoever applied them. */
  readonly underWay: ReadonlyArray<string>
}

/** The first part of the schema in every draft before the first release. */
const OF_DRAFTS = "0001_money"
const OF_A_DRAFT = "the database was made by a draft of this program before its first release"
/** A draft cannot be upgraded. */
const START_ANEW = "start with a new database or data folder"
const MADE_BY_A_DRAFT = `${OF_A_DRAFT}: ${START_ANEW}`

const schemaState = (applied: ReadonlyArray<AppliedMigration>, own: ReadonlyArray<Migration>): SchemaState => {
  const known = new Map(own.map((migration) => [migration.name, checksumOf(migration)]))
  const complete = new Set(applied.filter(({ isComplete }) => isComplete).map(({ name }) => name))
  const missing = own.map(({ name }) => name).filter((name) => !complete.has(name))
  const others = applied.filter(({ name }) => !known.has(name))
  const underWay = applied.filter(({ isComplete }) => !isComplete).map(({ name }) => name)
  const newer = others.map(({ name }) => name).sort()
  const changed = applied.find(({ checksum, name }) => known.has(name) && known.get(name) !== checksum)
  const needed = others.find(({ needs }) => needs !== null && !known.has(needs))?.needs
  return { obstacle: obstacleOf(others, changed?.name, needed), missing, newer, underWay }
}

const obstacleOf = (others: ReadonlyArray<AppliedMigration>, changed: string | undefined, needed: string | null | undefined) => {
  if (others.some(({ name }) => name === OF_DRAFTS)) return MADE_BY_A_DRAFT
  if (changed !== undefined) return `${OF_A_DRAFT}, with another ${changed}: ${START_ANEW}, or start the program that made it`
  if (typeof needed !== "string") return null
  return `the database's schema needs a release that knows ${needed}: start that one or a newer one`
}

const readApplied = (sql: SqlClient.SqlClient) =>
  sql<AppliedMigration>`SELECT name, checksum, needs, applied_at IS NOT NULL AS "isComplete" FROM schema_migrations`

/** Logged once, when the database is found to be ahead. */
const tellNewer = (newer: ReadonlyArray<string>): Effect.Effect<void> =>
  newer.length === 0
    ? Effect.void
    : Effect.logInfo("the database's schema is of a newer release, and this program can run on it").pipe(
        Effect.annotateLogs({ migrations: newer.join(", ") })
      )

/** Logged at each start: a setting may have its reason, and slows or changes what money steps do. */
const tellForeign = (settings: ReadonlyArray<string>): Effect.Effect<void> =>
  settings.length === 0
    ? Effect.void
    : Effect.annotateLogs(
        Effect.logWarning(
          "functions of the database have settings that no release gave them: look at them with \\df+ in psql, and take back what nobody meant with ALTER FUNCTION and RESET"
        ),
        { note: settings.join(", ") }
      )
