import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { type Instant, iso } from "../../domain/Instant.ts"
import type { EveryTenant } from "../cluster/EveryTenant.ts"
import type { TenantFilter } from "../connection/TenantFilter.ts"

/**
 * The queue of outcome polling: the rows of open_work that are due and leased to nobody. What is open comes before what is closed and may still
 * change. It takes only rows that nobody holds, so that it never waits and is part of no deadlock.
 */
export const duePolls = (sql: SqlClient.SqlClient, everyTenant: EveryTenant["Service"]) =>
  Effect.fnUntraced(function* (now: Instant, limit: number, leaseMs: number) {
    const free = sql`next_poll_at <= ${iso(now)}::timestamptz AND (lease_until IS NULL OR lease_until <= ${iso(now)}::timestamptz)`
    // However much is due of a tenant, the first row says it.
    const due = (of: TenantFilter) => sql<{ readonly app_id: string }>`
      SELECT t.app_id FROM tenants t WHERE EXISTS (
        SELECT 1 FROM open_work w WHERE w.app_id = t.app_id AND w.is_open AND ${free} ${of("w.app_id")}) ${of("t.app_id")}
      UNION SELECT t.app_id FROM tenants t WHERE EXISTS (
        SELECT 1 FROM open_work w WHERE w.app_id = t.app_id AND NOT w.is_open AND ${free} ${of("w.app_id")}) ${of("t.app_id")}`
    const take = (of: TenantFilter, share: number) => sql`WITH open AS MATERIALIZED (
        SELECT app_id, reference FROM open_work WHERE is_open AND ${free} ${of("app_id")} ORDER BY next_poll_at LIMIT ${share} FOR UPDATE SKIP LOCKED
      ),
      closed AS MATERIALIZED (
        SELECT app_id, reference FROM open_work WHERE NOT is_open AND ${free} ${of("app_id")} ORDER BY next_poll_at
        LIMIT ${share} - (SELECT count(*) FROM open) FOR UPDATE SKIP LOCKED
      ),
      due AS (SELECT * FROM open UNION ALL SELECT * FROM closed)
      UPDATE open_work w SET lease_until = ${iso(now + leaseMs)}::timestamptz
      FROM due JOIN transactions t ON t.app_id = due.app_id AND t.reference = due.reference
      WHERE w.app_id = due.app_id AND w.reference = due.reference ${of("w.app_id")} ${of("t.app_id")}
      RETURNING t.reference, t.record, t.revision, t.traceparent`
    return yield* everyTenant.claim(limit, { kind: "polls", due, take })
  })
