import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { checksumOf, type Migration } from "./Migration.ts"

export interface AppliedMigration {
  readonly name: string
  readonly checksum: string
  readonly needs: string | null
  /** False while steps of it are still to be done. */
  readonly isComplete: boolean
}

/** How the database's schema and a program fit together. */
export interface SchemaStanding {
  /** Why the program cannot work on it, whatever is applied, in one line. */
  readonly obstacle: string | null
  /** What the program has and the database has not, or not all of. */
  readonly missing: ReadonlyArray<string>
  /** What the database has from a newer release, and the program can live with. */
  readonly newer: ReadonlyArray<string>
  /** What the database has in part, whoever brought it. */
  readonly underWay: ReadonlyArray<string>
}

/** What the first part of the schema was called in every draft before the first release. */
const OF_DRAFTS = "0001_money"
const OF_A_DRAFT = "the database was made by a draft of this program before its first release"
/** Nothing upgrades a draft. */
const START_ANEW = "start with a new database or data folder"
export const MADE_BY_A_DRAFT = `${OF_A_DRAFT}: ${START_ANEW}`

export const schemaStanding = (applied: ReadonlyArray<AppliedMigration>, own: ReadonlyArray<Migration>): SchemaStanding => {
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

export const readApplied = (sql: SqlClient.SqlClient) =>
  sql<AppliedMigration>`SELECT name, checksum, needs, applied_at IS NOT NULL AS "isComplete" FROM schema_migrations`

/** Said once, when the database turns out to be ahead. */
export const tellNewer = (newer: ReadonlyArray<string>): Effect.Effect<void> =>
  newer.length === 0
    ? Effect.void
    : Effect.logInfo("the database's schema is of a newer release, and this program can run on it").pipe(
        Effect.annotateLogs({ migrations: newer.join(", ") })
      )
