import type { SqlClient } from "effect/sql"
import { type Instant, iso } from "../domain/Instant.ts"

/** What is removed when it has had its time, and is kept for at least so long. Windows go a day later than the longest of them ends. */
export const retention = { keys: "90 days", windows: "7 days" } as const
export type RetainedRows = keyof typeof retention

/**
 * As SQL: since when all of it is there. Where that row is gone, or says that something was removed before its time, it counts as kept for its
 * time.
 */
export const completeSince = (what: RetainedRows): string =>
  `(SELECT least((SELECT since FROM kept_since WHERE what = '${what}'), now() - interval '${retention[what]}'))`

/**
 * Part of the statement that removes what is older than `before`: it says so to `ledger verify`, which misses nothing older. It never waits:
 * where another node says so at this moment, the next round does.
 */
export const markRemoved = (sql: SqlClient.SqlClient, what: RetainedRows, before: Instant) =>
  sql`UPDATE kept_since k SET since = ${iso(before)}::timestamptz
    FROM (SELECT what FROM kept_since WHERE what = ${what} AND since < ${iso(before)}::timestamptz FOR UPDATE SKIP LOCKED) AS free
    WHERE k.what = free.what`
