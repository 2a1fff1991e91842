import { Effect, ManagedRuntime, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Database } from "../../src/persistence/Database.ts"

/** What a tenant's endpoint has not taken yet, and why. */
export interface Waiting {
  readonly app_id: string
  readonly enabled: boolean
  readonly due: number
  readonly leased: number
  readonly parked: number
  readonly most_attempts: number
  readonly soonest_seconds: number | null
}

/** The gateway's own account of its deliveries, to tell people: what is judged is what the receivers heard. */
export interface Books {
  /** Attempts that ended, also those of which the receiver read no whole event. */
  readonly attempts: () => Promise<number>
  readonly waiting: () => Promise<ReadonlyArray<Waiting>>
  readonly close: () => Promise<void>
}

export const openBooks = (url: string): Books => {
  const runtime = ManagedRuntime.make(Database.layer({ url: Redacted.make(url) }))
  const rows = <A extends object>(of: (sql: SqlClient.SqlClient) => Effect.Effect<ReadonlyArray<A>, unknown>) =>
    runtime.runPromise(Effect.flatMap(SqlClient.SqlClient, of))
  return {
    attempts: async () => {
      const [row] = await rows((sql) => sql<{ count: number }>`SELECT count(*)::int AS count FROM delivery_attempts`)
      return row?.count ?? 0
    },
    waiting: () =>
      rows(
        (sql) => sql<Waiting>`
          SELECT d.app_id, e.enabled, count(*) FILTER (WHERE d.status = 'due')::int AS due,
            count(*) FILTER (WHERE f.leased_until[array_position(f.ids, d.id)] > now())::int AS leased,
            count(*) FILTER (WHERE d.status = 'parked')::int AS parked, max(d.attempts)::int AS most_attempts,
            extract(epoch FROM min(d.next_attempt_at) - now())::int AS soonest_seconds
          FROM deliveries d JOIN webhook_endpoints e ON e.app_id = d.app_id AND e.mode = d.mode
          LEFT JOIN webhook_flights f ON f.app_id = d.app_id AND f.mode = d.mode
          WHERE d.status <> 'delivered' GROUP BY d.app_id, e.enabled`
      ),
    close: () => runtime.dispose()
  }
}
