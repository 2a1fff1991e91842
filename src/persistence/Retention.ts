import type { SqlClient } from "effect/sql"
import { type Instant, iso } from "../domain/Instant.ts"

/** Rows that are removed by age, and how long they are kept at least. Windows are removed a day after the longest of them ends. */
export const retention = { keys: "90 days", windows: "7 days" } as const
export type RetainedRows = keyof typeof retention

/**
 * As SQL: since when no row has been removed. Where kept_since has no row, or a row that is too young, the normal time counts.
 */
export const completeSince = (what: RetainedRows): string =>
  `(SELECT least((SELECT since FROM kept_since WHERE what = '${what}'), now() - interval '${retention[what]}'))`

/**
 * Part of the statement that removes what is older than `before`: it records that, so that `ledger verify` expects nothing older. It never
 * waits: where another node holds the row, the next round records it.
 */
export const recordPrunedBefore = (sql: SqlClient.SqlClient, what: RetainedRows, before: Instant) =>
  sql`UPDATE kept_since k SET since = ${iso(before)}::timestamptz
    FROM (SELECT what FROM kept_since WHERE what = ${what} AND since < ${iso(before)}::timestamptz FOR UPDATE SKIP LOCKED) AS free
    WHERE k.what = free.what`
