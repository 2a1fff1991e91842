import { Effect } from "effect"
import type { SqlClient } from "effect/sql"

/** Until a statement on this database waits for a lock. */
export const waitsForLock = (sql: SqlClient.SqlClient) =>
  Effect.repeat(sql`SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`, {
    until: (rows) => rows.length > 0
  })
