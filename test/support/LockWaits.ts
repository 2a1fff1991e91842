import { Effect } from "effect"
import type { SqlClient } from "effect/sql"

/** Until so many statements on this database wait for a lock. */
export const waitsForLock = (sql: SqlClient.SqlClient, statements = 1) =>
  Effect.repeat(sql`SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`, {
    until: (rows) => rows.length >= statements
  })
