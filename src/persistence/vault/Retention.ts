import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { type Instant, iso } from "../../domain/Instant.ts"
import type { Distribution } from "../connection/Distribution.ts"

/** Rows that are removed by age, and their minimum retention. Windows are removed a day after the longest of them ends. */
export const retention = { keys: "90 days", windows: "7 days" } as const
export type RetainedRows = keyof typeof retention

/** As SQL: since when no row has been removed. Without a row in kept_since, or with one too young, the normal retention. */
export const completeSince = (what: RetainedRows): string =>
  `(SELECT least((SELECT since FROM kept_since WHERE what = '${what}'), now() - interval '${retention[what]}'))`

/** The result of a retention statement: the number of rows that it removed. */
export interface Swept {
  readonly swept: number
}
export const sweptIn = (rows: ReadonlyArray<Swept>): number => rows.reduce((sum, { swept }) => sum + swept, 0)

/**
 * Records that rows older than `before` may be gone, so that `ledger verify` expects nothing older. It never waits: when
 * another node has locked the row, the next round records it. On plain PostgreSQL it is part of the statement that removes the
 * rows; on Citus, where kept_since is on another server, it is a separate commit that comes first.
 */
export const recordPrunedBefore = (
  sql: SqlClient.SqlClient,
  { isDistributed }: Distribution["Service"],
  what: RetainedRows,
  before: Instant
) => {
  const record = sql`UPDATE kept_since k SET since = ${iso(before)}::timestamptz
    FROM (SELECT what FROM kept_since WHERE what = ${what} AND since < ${iso(before)}::timestamptz FOR UPDATE SKIP LOCKED) AS free
    WHERE k.what = free.what`
  return isDistributed
    ? { first: Effect.asVoid(record), together: sql.literal("") }
    : { first: Effect.void, together: sql`since AS (${record}),` }
}
