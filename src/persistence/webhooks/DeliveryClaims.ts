import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { type Instant, iso } from "../../domain/Instant.ts"
import type { ClaimQueries } from "../cluster/EveryTenant.ts"
import type { Shard } from "../cluster/Shards.ts"
import { advisoryLocks } from "../connection/AdvisoryLocks.ts"
import { ofNamedEndpoints } from "../connection/EndpointTables.ts"
import { rowsOf } from "../connection/Rows.ts"
import { onOwnConnection } from "../connection/StepBatch.ts"
import { typeSql } from "../transactions/NewerEventTypes.ts"

interface DeliveryClaim {
  readonly now: Instant
  readonly perEndpoint: number
  readonly leaseMs: number
}

const chosenRows = rowsOf(
  Schema.StructWithRest(Schema.Struct({ id: Schema.String, appId: Schema.String, mode: Schema.String, queue: Schema.String }), [
    Schema.Record(Schema.String, Schema.Unknown)
  ])
)

const goneRows = rowsOf(Schema.Struct({ appId: Schema.String, id: Schema.String }))

/**
 * Claims due deliveries. An advisory lock lets one node claim at a time, so that each endpoint's limit is counted over all
 * nodes. On Citus each shard has its own lock, so that a server that does not answer delays no other's claims.
 */
export const deliveryClaims =
  (sql: SqlClient.SqlClient) =>
  ({ leaseMs, now, perEndpoint }: DeliveryClaim): ClaimQueries<unknown> => {
    const [at, until] = [iso(now), iso(now + leaseMs)]

    /** As in `claim_deliveries`. */
    const parkGone = Effect.fnUntraced(function* (appIds: ReadonlyArray<string>, limit: number) {
      const gone = yield* goneRows(sql.unsafe(goneStatement, [appIds, limit]))
      if (gone.length === 0) return
      const names = [appIds, gone.map(({ appId }) => appId), gone.map(({ id }) => id)]
      yield* sql.unsafe(endGoneStatement, names)
      yield* sql.unsafe(parkGoneStatement, [...names, at])
    })

    // It may wait for another node's claim.
    const claimed = (limit: number) =>
      onOwnConnection(sql)(sql.unsafe(claimStatement, [advisoryLocks.deliveryClaims, at, limit, perEndpoint, until]))

    const claimedOnCitus = Effect.fnUntraced(function* (limit: number, { appIds, number }: Shard) {
      // Shared among nodes that claim by shard; a node of the previous release takes it exclusively, for all shards at once.
      yield* sql`SELECT pg_advisory_xact_lock_shared(${advisoryLocks.deliveryClaims}), pg_advisory_xact_lock(${advisoryLocks.deliveryClaims}, ${number})`
      yield* parkGone(appIds, limit)
      const chosen = yield* chosenRows(sql.unsafe(chooseStatement, [at, limit, perEndpoint, appIds]))
      if (chosen.length === 0) return chosen
      for (const { first, isNamed, lease } of leases) {
        const own = chosen.filter(({ mode, queue }) => (queue !== mode) === isNamed)
        if (own.length === 0) continue
        const endpoints = new Set(own.map(({ appId, queue }) => `${appId}/${queue}`))
        const leased = sql.unsafe(lease, [
          at,
          until,
          appIds,
          own.map(({ appId }) => appId),
          own.map(({ queue }) => queue),
          own.map(({ id }) => id)
        ])
        if ((yield* leased).length === endpoints.size) continue
        yield* sql.unsafe(first, [appIds])
        yield* leased
      }
      return chosen
    })

    return {
      kind: "webhooks",
      // A delivery to a disabled endpoint is not due.
      due: (of) => sql<{ readonly app_id: string }>`
        SELECT DISTINCT e.app_id FROM webhook_endpoints e WHERE e.enabled ${of("e.app_id")} AND EXISTS (
          SELECT 1 FROM due_deliveries d WHERE d.app_id = e.app_id AND d.mode = e.mode AND d.next_attempt_at <= ${at}::timestamptz ${of("d.app_id")})
        UNION
        SELECT DISTINCT e.app_id FROM named_endpoints e WHERE e.enabled ${of("e.app_id")} AND EXISTS (
          SELECT 1 FROM named_due_deliveries d WHERE d.app_id = e.app_id AND d.queue = e.queue AND d.next_attempt_at <= ${at}::timestamptz ${of("d.app_id")})`,
      take: (_of, limit, shard) => (shard === null ? claimed(limit) : sql.withTransaction(claimedOnCitus(limit, shard)))
    }
  }

/** $1 is the lock, $2 the time, $3 the limit, $4 the limit for a tenant's endpoints of one mode, $5 the end of the lease. */
const claimStatement = `SELECT v.*, v.endpoint AS name, ${typeSql("v")} AS "eventType" FROM claim_deliveries($1, $2, $3, $4, $5) v`

/** Endpoints with due deliveries, found by an index skip scan: endpoints without any cost nothing, however many there are. */
const owed = `
owed AS (
  (SELECT d.app_id, d.mode FROM due_deliveries d WHERE d.app_id = ANY ($4::text[]) ORDER BY d.app_id, d.mode LIMIT 1)
  UNION ALL
  SELECT next.app_id, next.mode FROM owed o CROSS JOIN LATERAL (
    SELECT d.app_id, d.mode FROM due_deliveries d WHERE (d.app_id, d.mode) > (o.app_id, o.mode) AND d.app_id = ANY ($4::text[]) ORDER BY d.app_id, d.mode LIMIT 1
  ) next
)`

/** Selects and locks deliveries that are due to a removed endpoint. $1 are the tenants, $2 the limit. */
const goneStatement = `
WITH RECURSIVE ${ofNamedEndpoints(owed).replaceAll("owed", "owed_named").replaceAll("$4", "$1")}
SELECT d.app_id AS "appId", d.id FROM (
  SELECT o.app_id, o.queue FROM owed_named o
  WHERE NOT EXISTS (SELECT FROM named_endpoints e WHERE e.app_id = o.app_id AND e.queue = o.queue AND e.app_id = ANY ($1::text[])) OFFSET 0
) o JOIN named_deliveries d ON d.app_id = o.app_id AND d.queue = o.queue AND d.status = 'due' AND d.app_id = ANY ($1::text[])
ORDER BY d.app_id, d.id LIMIT $2::int FOR UPDATE OF d SKIP LOCKED`
/** Removes these from what is due, and parks them: $2 and $3 are the tenant and the id of each, $4 is the time. */
const endGoneStatement = `
DELETE FROM named_due_deliveries q USING unnest($2::text[], $3::text[]) AS g(app_id, id), named_deliveries d
WHERE d.app_id = g.app_id AND d.id = g.id AND d.app_id = ANY ($1::text[])
  AND q.app_id = d.app_id AND q.queue = d.queue AND q.next_attempt_at = d.next_attempt_at AND q.id = d.id AND q.app_id = ANY ($1::text[])`
const parkGoneStatement = `
UPDATE named_deliveries d SET status = 'parked', next_attempt_at = NULL, completed_at = $4::timestamptz
FROM unnest($2::text[], $3::text[]) AS g(app_id, id) WHERE d.app_id = g.app_id AND d.id = g.id AND d.app_id = ANY ($1::text[])`

/**
 * Each endpoint's oldest deliveries, as many as it may still have in flight; one row without a delivery when it may have none.
 * For `default`, or through `of` for named endpoints.
 */
const turn = (of: (text: string) => string) => `${of(`
  SELECT e.app_id, split_part(e.mode, '/', 1) AS mode, e.mode AS queue, e.enabled, cardinality(leased.ids) AS flying, sharing.endpoints AS sharing,
    waiting.id, waiting.created_at, waiting.place, waiting.next_attempt_at
  FROM owed o
  JOIN webhook_endpoints e ON e.app_id = o.app_id AND e.mode = o.mode
  LEFT JOIN webhook_flights f ON f.app_id = o.app_id AND f.mode = o.mode AND f.app_id = ANY ($4::text[])
  CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(l.id), '{}') AS ids FROM unnest(f.ids, f.leased_until) AS l(id, until) WHERE l.until > $1::timestamptz
  ) leased
  LEFT JOIN LATERAL (
    SELECT d.id, d.created_at, d.next_attempt_at, row_number() OVER (ORDER BY d.next_attempt_at) AS place
    FROM due_deliveries d
    WHERE e.enabled AND d.app_id = e.app_id AND d.mode = e.mode AND d.next_attempt_at <= $1::timestamptz AND d.id <> ALL (leased.ids)
      AND d.app_id = ANY ($4::text[])
    ORDER BY d.next_attempt_at
    LIMIT greatest(0, $3::int - cardinality(leased.ids))
  ) waiting ON true
`)} CROSS JOIN LATERAL (
    SELECT (SELECT count(*) FROM webhook_endpoints w
        WHERE w.app_id = e.app_id AND w.mode = split_part(${of("e.mode")}, '/', 1) AND w.enabled AND w.app_id = ANY ($4::text[]))
      + (SELECT count(*) FROM named_endpoints n
        WHERE n.app_id = e.app_id AND n.mode = split_part(${of("e.mode")}, '/', 1) AND n.enabled AND n.app_id = ANY ($4::text[])) AS endpoints
  ) sharing
  WHERE e.app_id = ANY ($4::text[])`

/** The endpoint of a chosen delivery, and the delivery's state. */
const standing = `
  SELECT e.mode AS endpoint_mode, 'default' AS name, e.url, e.secret_sealed, e.previous_secret_sealed, e.previous_until, d.event_id, d.attempts
  FROM webhook_endpoints e
  JOIN deliveries d ON d.app_id = c.app_id AND d.id = c.id AND d.created_at = c.created_at AND d.app_id = ANY ($4::text[])
  WHERE e.app_id = c.app_id AND e.mode = c.queue AND e.app_id = ANY ($4::text[])`
const standingNamed = ofNamedEndpoints(standing).replace("e.queue AS endpoint_mode, 'default' AS name", "e.mode, e.name")

/**
 * The same on Citus, which delegates no INSERT of a CTE to another server and computes no time in an upsert: the statements of
 * one transaction. $1 is the time, $2 the limit, $3 the limit for a tenant's endpoints of one mode, $4 the tenants, all of one
 * shard. First the choice,
 */
const chooseStatement = `
WITH RECURSIVE ${owed},
${ofNamedEndpoints(owed).replaceAll("owed", "owed_named")},
-- Its columns have their names from its first part: Citus forgets those that would stand beside its own.
turn AS (${turn((text) => text)}
  UNION ALL ${turn(ofNamedEndpoints).replace("owed", "owed_named")}
),
-- Half of an endpoint's equal part is kept for it, one at least; the rest is for whichever comes first.
shared AS (
  SELECT t.*, $3::int - t.kept * t.sharing AS free, t.flying + t.place <= t.kept AS is_kept,
    sum(greatest(0, t.flying - CASE WHEN t.enabled THEN t.kept ELSE 0 END)) FILTER (WHERE coalesce(t.place, 1) = 1)
      OVER (PARTITION BY t.app_id, t.mode) AS beyond,
    count(*) FILTER (WHERE t.flying + t.place > t.kept)
      OVER (PARTITION BY t.app_id, t.mode ORDER BY t.place, t.next_attempt_at, t.queue, t.id) AS further
  FROM (SELECT t.*, greatest(1, $3::int / (2 * greatest(1, t.sharing))) AS kept FROM turn t) t
),
chosen AS MATERIALIZED (
  -- Every tenant's first comes before anybody's second, and so do the firsts of its endpoints before their seconds: a long queue delays
  -- nobody else, and several endpoints are no more turns.
  SELECT app_id, queue, id, created_at, turn_of_tenant, next_attempt_at FROM (
    SELECT s.*, row_number() OVER (PARTITION BY app_id, mode ORDER BY place, next_attempt_at, queue, id) AS turn_of_tenant
    FROM shared s WHERE id IS NOT NULL AND (is_kept OR beyond + further <= free)) ranked
  ORDER BY turn_of_tenant, next_attempt_at, app_id, queue, id LIMIT $2
)
SELECT c.id, e.event_id AS "eventId", v.type AS "eventType", v.body, v.reference, e.attempts, c.created_at AS "createdAt", t.traceparent,
  c.app_id AS "appId", e.endpoint_mode AS mode, c.queue, e.name, e.url, e.secret_sealed AS "secretSealed",
  CASE WHEN e.previous_until > $1::timestamptz THEN e.previous_secret_sealed END AS "previousSealed"
FROM chosen c
-- By their whole keys: joined, they might be looked for among all of the tenant's.
CROSS JOIN LATERAL (${standing}
  UNION ALL ${standingNamed} OFFSET 0
) e
CROSS JOIN LATERAL (
  -- No event is newer than what delivers it.
  SELECT v.app_id, ${typeSql("v")} AS type, v.body, v.reference FROM events v WHERE v.app_id = c.app_id AND v.id = e.event_id AND v.created_at <= c.created_at AND v.app_id = ANY ($4::text[]) OFFSET 0
) v
LEFT JOIN transactions t ON t.app_id = v.app_id AND t.reference = v.reference AND t.app_id = ANY ($4::text[])
ORDER BY c.turn_of_tenant, c.next_attempt_at, c.app_id, c.queue, c.id`

/**
 * then the leases: $1 is the time, $2 the end of the lease, $3 the tenants; $4, $5 and $6 are the tenant, the mode and the id
 * of each. Returns one row per endpoint.
 */
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

/** For the endpoints `default`, and for named ones. */
const leases = [
  { isNamed: false, lease: leaseStatement, first: firstLeaseStatement },
  { isNamed: true, lease: ofNamedEndpoints(leaseStatement), first: ofNamedEndpoints(firstLeaseStatement) }
]
