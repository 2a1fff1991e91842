import type { SqlClient } from "effect/sql"
import { type Instant, iso } from "../domain/Instant.ts"

/** What is removed when it has had its time, and is kept for at least so long. Windows go a day later than the longest of them ends. */
export const keptFor = { keys: "90 days", windows: "7 days" } as const
export type Kept = keyof typeof keptFor

/**
 * As SQL: since when all of it is there. Where that row is gone, or says that something was removed before its time, it counts as kept for its
 * time.
 */
export const allThereSince = (what: Kept): string =>
  `(SELECT least((SELECT since FROM kept_since WHERE what = '${what}'), now() - interval '${keptFor[what]}'))`

/**
 * Part of the statement that removes what is older than `before`: it says so to `ledger verify`, which misses nothing older. It never waits:
 * where another node says so at this moment, the next round does.
 */
export const keptSince = (sql: SqlClient.SqlClient, what: Kept, before: Instant) =>
  sql`UPDATE kept_since k SET since = ${iso(before)}::timestamptz
    FROM (SELECT what FROM kept_since WHERE what = ${what} AND since < ${iso(before)}::timestamptz FOR UPDATE SKIP LOCKED) AS free
    WHERE k.what = free.what`
