import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { type Instant, iso } from "../../domain/Instant.ts"
import type { ClaimQueries } from "../cluster/EveryTenant.ts"
import type { Shard } from "../cluster/Shards.ts"
import { advisoryLocks } from "../connection/AdvisoryLocks.ts"
import { rowsOf } from "../connection/Rows.ts"
import { typeSql } from "../transactions/NewerEventTypes.ts"

interface DeliveryClaim {
  readonly now: Instant
  readonly perEndpoint: number
  readonly leaseMs: number
}

const chosenRows = rowsOf(
  Schema.StructWithRest(Schema.Struct({ id: Schema.String, appId: Schema.String, mode: Schema.String }), [
    Schema.Record(Schema.String, Schema.Unknown)
  ])
)

/**
 * The claim of deliveries that are due. An advisory lock lets one node claim at a time, so that the bound of each endpoint is counted over
 * all nodes. On Citus each shard has a lock of its own: a wait for a server that does not answer holds up no other server's claims.
 */
export const deliveryClaims =
  (sql: SqlClient.SqlClient) =>
  ({ leaseMs, now, perEndpoint }: DeliveryClaim): ClaimQueries<unknown> => {
    const [at, until] = [iso(now), iso(now + leaseMs)]

    // The lock stands before the statement, so that the statement sees every lease that was taken before it. Its settings hold for this one
    // transaction: planning the statement takes longer than running it, and without them PostgreSQL plans it for each claim.
    const claimed = (limit: number) =>
      Effect.andThen(
        sql`SELECT pg_advisory_xact_lock(${advisoryLocks.deliveryClaims}), set_config('plan_cache_mode', 'force_generic_plan', true),
          set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)`,
        sql.unsafe(claimStatement, [at, limit, perEndpoint, until])
      )

    const claimedOnCitus = Effect.fnUntraced(function* (limit: number, { appIds, number }: Shard) {
      // Shared among those that claim by shard; a node of the release before claims all of them at once, and has it alone.
      yield* sql`SELECT pg_advisory_xact_lock_shared(${advisoryLocks.deliveryClaims}), pg_advisory_xact_lock(${advisoryLocks.deliveryClaims}, ${number})`
      const chosen = yield* chosenRows(sql.unsafe(chooseStatement, [at, limit, perEndpoint, appIds]))
      if (chosen.length === 0) return chosen
      const endpoints = new Set(chosen.map(({ appId, mode }) => `${appId}/${mode}`))
      const lease = sql.unsafe(leaseStatement, [
        at,
        until,
        appIds,
        chosen.map(({ appId }) => appId),
        chosen.map(({ mode }) => mode),
        chosen.map(({ id }) => id)
      ])
      if ((yield* lease).length === endpoints.size) return chosen
      yield* sql.unsafe(firstLeaseStatement, [appIds])
      yield* lease
      return chosen
    })

    return {
      kind: "webhooks",
      // A delivery to a disabled endpoint is not due.
      due: (of) => sql<{ readonly app_id: string }>`
        SELECT DISTINCT e.app_id FROM webhook_endpoints e WHERE e.enabled ${of("e.app_id")} AND EXISTS (
          SELECT 1 FROM due_deliveries d WHERE d.app_id = e.app_id AND d.mode = e.mode AND d.next_attempt_at <= ${at}::timestamptz ${of("d.app_id")})`,
      take: (_of, limit, shard) => sql.withTransaction(shard === null ? claimed(limit) : claimedOnCitus(limit, shard))
    }
  }

/** The text after a condition on a tenant's column: nothing on PostgreSQL; on Citus the tenants that the statement is for. */
type OwnRows = (column: string) => string

// The statement is planned once a connection, whatever the tables hold then: everything is found by its key, and what is due in the order of its
// index, so that a LIMIT ends the reading. Two settings of the claim's transaction see to that.
const chosen = (own: OwnRows) => `
WITH RECURSIVE owed AS (
  -- Endpoints with due deliveries, found by an index skip scan: endpoints without any cost nothing, however many there are.
  (SELECT d.app_id, d.mode FROM due_deliveries d WHERE true${own("d.app_id")} ORDER BY d.app_id, d.mode LIMIT 1)
  UNION ALL
  SELECT next.app_id, next.mode FROM owed o CROSS JOIN LATERAL (
    SELECT d.app_id, d.mode FROM due_deliveries d WHERE (d.app_id, d.mode) > (o.app_id, o.mode)${own("d.app_id")} ORDER BY d.app_id, d.mode LIMIT 1
  ) next
),
turn AS (
  -- Each endpoint's oldest, as many as it may still have in flight.
  SELECT e.app_id, e.mode, waiting.id, waiting.created_at, waiting.place, waiting.next_attempt_at
  FROM owed o
  JOIN webhook_endpoints e ON e.app_id = o.app_id AND e.mode = o.mode
  LEFT JOIN webhook_flights f ON f.app_id = o.app_id AND f.mode = o.mode${own("f.app_id")}
  CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(l.id), '{}') AS ids FROM unnest(f.ids, f.leased_until) AS l(id, until) WHERE l.until > $1::timestamptz
  ) leased
  CROSS JOIN LATERAL (
    SELECT d.id, d.created_at, d.next_attempt_at, row_number() OVER (ORDER BY d.next_attempt_at) AS place
    FROM due_deliveries d
    WHERE d.app_id = e.app_id AND d.mode = e.mode AND d.next_attempt_at <= $1::timestamptz AND d.id <> ALL (leased.ids)${own("d.app_id")}
    ORDER BY d.next_attempt_at
    LIMIT greatest(0, $3::int - cardinality(leased.ids))
  ) waiting
  WHERE e.enabled${own("e.app_id")}
),
chosen AS MATERIALIZED (
  -- Every endpoint's first comes before anybody's second, so that a long queue delays nobody else.
  SELECT app_id, mode, id, created_at, place, next_attempt_at FROM turn ORDER BY place, next_attempt_at, app_id, id LIMIT $2
)`

const chosenDeliveries = (own: OwnRows) => `
SELECT c.id, d.event_id AS "eventId", v.type AS "eventType", v.body, v.reference, d.attempts, c.created_at AS "createdAt", t.traceparent,
  e.app_id AS "appId", e.mode, e.url, e.secret_sealed AS "secretSealed",
  CASE WHEN e.previous_until > $1::timestamptz THEN e.previous_secret_sealed END AS "previousSealed"
FROM chosen c
JOIN webhook_endpoints e ON e.app_id = c.app_id AND e.mode = c.mode${own("e.app_id")}
-- By their whole keys: joined, they might be looked for among all of the tenant's.
CROSS JOIN LATERAL (
  SELECT d.event_id, d.attempts FROM deliveries d WHERE d.app_id = c.app_id AND d.id = c.id AND d.created_at = c.created_at${own("d.app_id")} OFFSET 0
) d
CROSS JOIN LATERAL (
  -- No event is newer than what delivers it.
  SELECT v.app_id, ${typeSql("v")} AS type, v.body, v.reference FROM events v WHERE v.app_id = c.app_id AND v.id = d.event_id AND v.created_at <= c.created_at${own("v.app_id")} OFFSET 0
) v
LEFT JOIN transactions t ON t.app_id = v.app_id AND t.reference = v.reference${own("t.app_id")}
ORDER BY c.place, c.next_attempt_at, c.app_id, c.id`

/**
 * Leases deliveries that are due: $1 is now, $2 how many, $3 how many of one endpoint at a time, $4 until when. The leases stand in
 * webhook_flights, a row an endpoint, and no delivery is written. The due and the in-flight deliveries are of one moment, because an
 * attempt is recorded with a change of both in one commit.
 */
const claimStatement = `${chosen(() => "")},
flying AS (
  -- An attempt that was recorded meanwhile is not in the row any more that this one adds to.
  INSERT INTO webhook_flights AS w (app_id, mode, ids, leased_until)
  SELECT app_id, mode, array_agg(id), array_agg($4::timestamptz) FROM chosen GROUP BY app_id, mode ORDER BY app_id, mode
  ON CONFLICT (app_id, mode) DO UPDATE SET (ids, leased_until) = (
    SELECT array_agg(l.id), array_agg(l.until) FROM (
      SELECT k.id, k.until FROM unnest(w.ids, w.leased_until) AS k(id, until) WHERE k.until > $1::timestamptz AND k.id <> ALL (EXCLUDED.ids)
      UNION ALL
      SELECT n.id, n.until FROM unnest(EXCLUDED.ids, EXCLUDED.leased_until) AS n(id, until)
    ) l)
)${chosenDeliveries(() => "")}`

/**
 * The same on Citus, which sends no INSERT of a CTE to another server, and computes no time in an upsert: statements of one transaction. $4 are the
 * tenants, all of one shard. First what is chosen,
 */
const chooseStatement = `${chosen((column) => ` AND ${column} = ANY ($4::text[])`)}
${chosenDeliveries((column) => ` AND ${column} = ANY ($4::text[])`)}`

/** then the leases: $1 is now, $2 until when, $3 the tenants; $4, $5 and $6 are the tenant, the mode and the id of each. Answers a row an endpoint. */
const leaseStatement = `
UPDATE webhook_flights w SET (ids, leased_until) = (
  SELECT array_agg(l.id), array_agg(l.until) FROM (
    SELECT k.id, k.until FROM unnest(w.ids, w.leased_until) AS k(id, until) WHERE k.until > $1::timestamptz AND k.id <> ALL (c.ids)
    UNION ALL
    SELECT n.id, $2::timestamptz FROM unnest(c.ids) AS n(id)
  ) l)
FROM (
  SELECT x.app_id, x.mode, array_agg(x.id) AS ids FROM unnest($4::text[], $5::text[], $6::text[]) AS x(app_id, mode, id) GROUP BY x.app_id, x.mode
) c
WHERE w.app_id = c.app_id AND w.mode = c.mode AND w.app_id = ANY ($3::text[])
RETURNING 1 AS leased`

/** An endpoint's row, before its first lease. $1 are the tenants. */
const firstLeaseStatement = `
INSERT INTO webhook_flights (app_id, mode, ids, leased_until)
SELECT e.app_id, e.mode, '{}', '{}' FROM webhook_endpoints e WHERE e.app_id = ANY ($1::text[])
ON CONFLICT (app_id, mode) DO NOTHING`
