import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { AppId, Mode } from "../../domain/Ids.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { ACTIVITY_COUNTED_AT_MOST, ActivityCount, TenantActivity } from "../../services/ports/TenantActivity.ts"
import { rowsOf } from "../connection/Rows.ts"

const counts = rowsOf(ActivityCount)

/** TenantActivity on PostgreSQL. It reads transactions along `transactions_by_tenant_and_time`. */
export const TenantActivityPg = layerOf(TenantActivity)(function* () {
  const sql = yield* SqlClient.SqlClient

  const begun = Effect.fn("TenantActivity.begun")((appId: AppId, mode: Mode, from: Instant) =>
    counts(sql`
      SELECT kind, status, count(*)::int AS count FROM (
        SELECT kind, status FROM transactions
        WHERE app_id = ${appId} AND mode = ${mode} AND created_at > '-infinity' AND created_at >= ${iso(from)}::timestamptz
        ORDER BY created_at DESC, reference DESC LIMIT ${ACTIVITY_COUNTED_AT_MOST}) newest
      GROUP BY 1, 2 ORDER BY 1, 2`)
  )

  return { begun }
})
