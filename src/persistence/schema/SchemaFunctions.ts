import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { DatabaseError } from "../connection/DatabaseError.ts"
import { checksumOfText, type FunctionFile } from "./FunctionFiles.ts"
import { inOneStatement } from "./Migration.ts"

interface AppliedFile {
  readonly name: string
  readonly version: number
  readonly checksum: string
}

type AppliedMigrations = ReadonlyArray<{ readonly name: string; readonly isComplete: boolean }>

/** The migration that created the table for this, and the one since which it stores digests of the functions themselves. */
const KEPT_SINCE = "0038_functions"
const DIGESTS_SINCE = "0043_branches_and_digests"
const has = (migrations: AppliedMigrations, wanted: string): boolean =>
  migrations.some(({ isComplete, name }) => isComplete && name === wanted)

/** The name of a file in lists of migrations. */
const titleOf = (name: string): string => `functions/${name}`

const functionsIn = ({ sql }: FunctionFile): ReadonlyArray<string> =>
  [...sql.matchAll(/^CREATE OR REPLACE FUNCTION (\w+)/gm)].flatMap(([, name]) => name ?? [])

/** The search path changes what a function does, whoever sets it. */
const ALWAYS_OURS = ["search_path"]

/** The settings that a file's text gives its functions, by function name: in its head, or in a later statement. */
const settingsIn = (file: FunctionFile): Readonly<Record<string, ReadonlyArray<string>>> => {
  const settings = new Map(functionsIn(file).map((name) => [name, new Set(ALWAYS_OURS)]))
  for (const [, name = "", head = ""] of file.sql.matchAll(/^CREATE OR REPLACE FUNCTION (\w+)(.*?)\bAS \$/gms))
    for (const [, setting = ""] of head.matchAll(/\bSET (\w+)/g)) settings.get(name)?.add(setting)
  for (const [, name = "", setting = ""] of file.sql.matchAll(/\bALTER FUNCTION (\w+) SET (\w+)/g))
    settings.get(name)?.add(setting)
  return Object.fromEntries([...settings].map(([name, set]) => [name, [...set]]))
}

/**
 * Files as a statement takes them, and a digest of the catalogue's functions of each file. It changes with the text and with
 * our settings. Other settings are an administrator's: they are reported and do not prevent a start.
 */
const asRows = (files: ReadonlyArray<FunctionFile>): string =>
  JSON.stringify(
    files.map((file) => ({
      name: file.name,
      version: file.version,
      checksum: checksumOfText(file.sql),
      settings: settingsIn(file)
    }))
  )
const ROWS = "json_to_recordset($1::json) AS f(name text, version int, checksum text, settings jsonb)"
const AS_PUT = `${ROWS} JOIN schema_functions s ON s.name = f.name AND s.version = f.version AND s.checksum = f.checksum`
const OF_SCHEMA = "p.pronamespace = current_schema()::regnamespace AND f.settings -> p.proname::text IS NOT NULL"
const IS_OURS = "f.settings -> p.proname::text @> to_jsonb(split_part(c.setting, '=', 1))"
const OURS = `(SELECT array_agg(c.setting ORDER BY c.at) FROM unnest(p.proconfig) WITH ORDINALITY c(setting, at) WHERE ${IS_OURS})`
const DIGEST = `
  SELECT coalesce(encode(sha256(convert_to(
    string_agg(concat_ws(' ', p.proname, p.prosecdef, ${OURS}, p.prosrc), ' ' ORDER BY p.proname, p.prosrc), 'UTF8')), 'hex'), 'none') AS digest
  FROM pg_proc p WHERE ${OF_SCHEMA}`

export const SchemaFunctions = {
  titles: (all: ReadonlyArray<{ readonly name: string }>): ReadonlyArray<string> => all.map(({ name }) => titleOf(name)),

  /** The functions in the database, if its migrations store them; null otherwise. */
  readApplied: (sql: SqlClient.SqlClient, migrations: AppliedMigrations) =>
    has(migrations, KEPT_SINCE) ? sql<AppliedFile>`SELECT name, version, checksum FROM schema_functions` : Effect.succeed(null),

  /** The files whose text, or a newer one, is not in the database. When the table is missing, so is a migration. */
  behind: (own: ReadonlyArray<FunctionFile>, applied: ReadonlyArray<AppliedFile> | null): ReadonlyArray<FunctionFile> => {
    if (applied === null) return []
    const versions = new Map(applied.map(({ name, version }) => [name, version]))
    return own.filter(({ name, version }) => (versions.get(name) ?? 0) < version)
  },

  /** Why this program cannot work with the texts of another build, in one line; null when it can. Neither is newer. */
  obstacle: (own: ReadonlyArray<FunctionFile>, applied: ReadonlyArray<AppliedFile> | null): string | null => {
    const found = new Map((applied ?? []).map((one) => [one.name, one]))
    const others = own.filter(({ name, sql, version }) => {
      const there = found.get(name)
      return there !== undefined && there.version === version && there.checksum !== checksumOfText(sql)
    })
    if (others.length === 0) return null
    return `the database has another text of ${SchemaFunctions.titles(others).join(", ")} than this program, and neither is the newer one: two builds of one release differ. Start the build that put it, or a newer release. To put this one's in its place, delete its row of schema_functions as the owner, and run \`gateway migrate\``
  },

  /** The files that were applied as this program has them but differ in the catalogue now: somebody has replaced a function. */
  replaced: (sql: SqlClient.SqlClient, own: ReadonlyArray<FunctionFile>, migrations: AppliedMigrations) =>
    has(migrations, DIGESTS_SINCE)
      ? Effect.map(
          sql.unsafe<{ name: string }>(
            `SELECT s.name FROM ${AS_PUT}
            CROSS JOIN LATERAL (${DIGEST}) c WHERE s.digest IS DISTINCT FROM c.digest`,
            [asRows(own)]
          ),
          (found) => own.filter(({ name }) => found.some((one) => one.name === name))
        )
      : Effect.succeed([]),

  /** Settings, such as `windows: work_mem=64MB`, that functions have beside those in the texts that this program applied. */
  foreignSettings: (sql: SqlClient.SqlClient, own: ReadonlyArray<FunctionFile>, migrations: AppliedMigrations) =>
    has(migrations, KEPT_SINCE)
      ? Effect.map(
          sql.unsafe<{ found: string }>(
            `SELECT DISTINCT concat(p.proname, ': ', c.setting) AS found FROM ${AS_PUT}
            JOIN pg_proc p ON ${OF_SCHEMA} CROSS JOIN LATERAL unnest(p.proconfig) c(setting) WHERE NOT ${IS_OURS} ORDER BY 1`,
            [asRows(own)]
          ),
          (rows) => rows.map(({ found }) => found)
        )
      : Effect.succeed([]),

  /** The files of a newer release in the database: their texts stay. */
  ahead: (own: ReadonlyArray<FunctionFile>, applied: ReadonlyArray<AppliedFile> | null): ReadonlyArray<AppliedFile> => {
    const versions = new Map(own.map(({ name, version }) => [name, version]))
    return (applied ?? []).filter(({ name, version }) => version > (versions.get(name) ?? 0))
  },

  /**
   * Inside a transaction of the holder of the migrations' lock. Before the last migration, a function may use what a later one
   * creates: PostgreSQL then checks its body when it is called.
   */
  put: Effect.fnUntraced(function* (sql: SqlClient.SqlClient, files: ReadonlyArray<FunctionFile>) {
    yield* sql`SELECT set_config('check_function_bodies', 'off', true)`
    for (const file of files)
      yield* sql.unsafe(inOneStatement(file.sql)).pipe(DatabaseError.explain(`apply ${titleOf(file.name)}`))
    const names = files.flatMap(functionsIn)
    const [twice] = yield* sql<{ name: string }>`
      SELECT proname::text AS name FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND proname = ANY (${names})
      GROUP BY 1 HAVING count(*) > 1`
    if (twice !== undefined)
      return yield* new DatabaseError(`the function ${twice.name} would have two signatures: a changed signature is a new name`)
  }),

  /** Stores what was applied, and its digest in the catalogue. */
  keep: Effect.fnUntraced(function* (
    sql: SqlClient.SqlClient,
    files: ReadonlyArray<FunctionFile>,
    migrations: AppliedMigrations
  ) {
    yield* sql.unsafe(
      `INSERT INTO schema_functions (name, version, checksum, applied_at) SELECT f.name, f.version, f.checksum, now() FROM ${ROWS}
      ON CONFLICT (name) DO UPDATE SET version = EXCLUDED.version, checksum = EXCLUDED.checksum, applied_at = EXCLUDED.applied_at`,
      [asRows(files)]
    )
    if (has(migrations, DIGESTS_SINCE))
      yield* sql.unsafe(
        `UPDATE schema_functions s SET digest = c.digest FROM ${ROWS} CROSS JOIN LATERAL (${DIGEST}) c WHERE s.name = f.name`,
        [asRows(files)]
      )
  })
}
