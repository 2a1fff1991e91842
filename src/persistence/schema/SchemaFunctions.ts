import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { DatabaseError } from "../connection/DatabaseError.ts"
import { checksumOfText, type FunctionFile } from "./FunctionFiles.ts"
import { inOneStatement } from "./Migration.ts"

/** A file of functions as the database has it. */
interface AppliedFile {
  readonly name: string
  readonly version: number
  readonly checksum: string
}

/** The migration that made the table in which the database keeps that. */
const KEPT_SINCE = "0038_functions"
/** What a file is called beside migrations. */
const titleOf = (name: string): string => `functions/${name}`

export const SchemaFunctions = {
  titles: (all: ReadonlyArray<{ readonly name: string }>): ReadonlyArray<string> => all.map(({ name }) => titleOf(name)),

  /** What the database has, by the migrations that it has; null before it keeps that. */
  readApplied: (sql: SqlClient.SqlClient, migrations: ReadonlyArray<{ readonly name: string; readonly isComplete: boolean }>) =>
    migrations.some(({ isComplete, name }) => isComplete && name === KEPT_SINCE)
      ? sql<AppliedFile>`SELECT name, version, checksum FROM schema_functions`
      : Effect.succeed(null),

  /** Those whose text is not in the database, and no newer one either. A migration is missing as well where nothing is kept of them yet. */
  behind: (own: ReadonlyArray<FunctionFile>, applied: ReadonlyArray<AppliedFile> | null): ReadonlyArray<FunctionFile> => {
    if (applied === null) return []
    const found = new Map(applied.map((one) => [one.name, one]))
    return own.filter(({ name, sql, version }) => {
      const there = found.get(name)
      if (there === undefined || there.version < version) return true
      return there.version === version && there.checksum !== checksumOfText(sql)
    })
  },

  /** Those that the database has from a newer release: their texts stay. */
  ahead: (own: ReadonlyArray<FunctionFile>, applied: ReadonlyArray<AppliedFile> | null): ReadonlyArray<AppliedFile> => {
    const versions = new Map(own.map(({ name, version }) => [name, version]))
    return (applied ?? []).filter(({ name, version }) => version > (versions.get(name) ?? 0))
  },

  /**
   * Inside a transaction of whoever holds the migrations' lock. Before the last migration a function may name what a later one makes: PostgreSQL
   * then looks at its body when it is called.
   */
  put: Effect.fnUntraced(function* (sql: SqlClient.SqlClient, files: ReadonlyArray<FunctionFile>) {
    yield* sql`SELECT set_config('check_function_bodies', 'off', true)`
    for (const file of files)
      yield* sql.unsafe(inOneStatement(file.sql)).pipe(DatabaseError.explain(`apply ${titleOf(file.name)}`))
    const names = files.flatMap(({ sql: text }) =>
      [...text.matchAll(/^CREATE OR REPLACE FUNCTION (\w+)/gm)].map(([, name]) => name)
    )
    const [twice] = yield* sql<{ name: string }>`
      SELECT proname::text AS name FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND proname = ANY (${names})
      GROUP BY 1 HAVING count(*) > 1`
    if (twice !== undefined)
      return yield* new DatabaseError({
        message: `the function ${twice.name} would have two signatures: a changed signature is a new name`
      })
  }),

  /** What was put is kept. */
  keep: (sql: SqlClient.SqlClient, files: ReadonlyArray<FunctionFile>) =>
    Effect.forEach(
      files,
      ({ name, sql: text, version }) => sql`
        INSERT INTO schema_functions (name, version, checksum, applied_at) VALUES (${name}, ${version}, ${checksumOfText(text)}, now())
        ON CONFLICT (name) DO UPDATE SET version = EXCLUDED.version, checksum = EXCLUDED.checksum, applied_at = EXCLUDED.applied_at`,
      { discard: true }
    )
}
