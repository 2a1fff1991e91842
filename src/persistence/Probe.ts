import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Questions of the management listener. They fail as the database does, and change nothing. */
export const Probe = Effect.map(SqlClient.SqlClient, (sql) => ({
  /** Any answer will do. */
  alive: sql`SELECT 1`,

  /** Transactions without a final status, by kind. */
  openTransactions: Effect.map(
    sql<{ kind: string; count: number }>`
      SELECT kinds.kind, count(t.reference)::int AS count
      FROM (VALUES ('collection'), ('payout')) AS kinds(kind)
      LEFT JOIN transactions t ON t.kind = kinds.kind AND t.status IN ('pending', 'requires_action')
      GROUP BY kinds.kind ORDER BY kinds.kind`,
    (rows) => Object.fromEntries(rows.map(({ count, kind }) => [kind, count]))
  )
}))
