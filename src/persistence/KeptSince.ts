import type { SqlClient } from "effect/sql"
import { type Instant, iso } from "../domain/Instant.ts"

/**
 * Part of the statement that removes what is older than `before`: it says so to `ledger verify`, which misses nothing older. It never waits:
 * where another node says so at this moment, the next round does.
 */
export const keptSince = (sql: SqlClient.SqlClient, what: "keys" | "windows", before: Instant) =>
  sql`UPDATE kept_since k SET since = ${iso(before)}::timestamptz
    FROM (SELECT what FROM kept_since WHERE what = ${what} AND since < ${iso(before)}::timestamptz FOR UPDATE SKIP LOCKED) AS free
    WHERE k.what = free.what`
