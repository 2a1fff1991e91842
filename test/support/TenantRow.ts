import { Effect } from "effect"
import type { SqlClient } from "effect/sql"

/** A tenant as `gateway tenant create` leaves it, without its audit row: on a cluster nobody looks for the work of one that is in no directory. */
export const givenTenantRow = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  appId: string,
  capabilities: ReadonlyArray<string>,
  status = "active"
) {
  yield* sql`INSERT INTO tenants (app_id, status, capabilities, created_at) VALUES (${appId}, ${status}, ${capabilities}::text[], now())`
  yield* sql`INSERT INTO tenant_directory (app_id, bucket) VALUES (${appId}, 0)`
})
