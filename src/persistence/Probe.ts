import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Questions of the management listener. They fail as the database does, and change nothing. */
export const Probe = Effect.map(SqlClient.SqlClient, (sql) => ({
  /** Any answer will do. */
  alive: sql`SELECT 1`
}))
