import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { type Instant, iso } from "../../domain/Instant.ts"
import type { DeliveryCursor, RecoveryStep } from "../../services/ports/WebhookDeliveries.ts"
import type { AuditTrail } from "../audit/AuditTrail.ts"
import type { EveryTenant } from "../cluster/EveryTenant.ts"
import { advisoryLocks } from "../connection/AdvisoryLocks.ts"
import { endpointTables } from "../connection/EndpointTables.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import type { TenantFilter } from "../connection/TenantFilter.ts"
import { subscriptionSql, typeSql } from "../transactions/NewerEventTypes.ts"

const Step = Schema.Struct({
  seen: Schema.Number,
  changed: Schema.Number,
  at: Schema.NullOr(Moment),
  id: Schema.NullOr(Schema.String)
})
const steps = rowsOf(Step)
const pages = rowsOf(Schema.Struct({ ...Step.fields, events: Schema.Array(Schema.String), times: Schema.Array(Schema.String) }))

const locks = rowsOf(Schema.Struct({ ours: Schema.Boolean }))
const counts = rowsOf(Schema.Struct({ due: Schema.Number }))

interface EventStorage {
  readonly sql: SqlClient.SqlClient
  readonly trail: AuditTrail
  readonly everyTenant: EveryTenant["Service"]
  readonly isDistributed: boolean
}

/** The steps of WebhookDeliveries that walk events by age: recovery and retention. */
export const eventSteps = ({ everyTenant, isDistributed, sql, trail }: EventStorage) => {
  const type = sql.literal(typeSql("v"))

  const recover = Effect.fn("WebhookDeliveries.recover")(
    function* ({ appId, before, change, dueAtMost, endpoint, from, ids, mode, types, until }: RecoveryStep) {
      const { deliveries, due, endpoints, isNamed, key, queue } = endpointTables(sql, mode, endpoint)
      const subscription = sql.literal(isNamed ? "e.events" : subscriptionSql("e."))
      // Before the statements that read: deliveries that another recovery has made are due by then, and are skipped.
      const [lock] = yield* locks(sql`SELECT pg_try_advisory_xact_lock(${advisoryLocks.recoveries}, hashtext(${appId})) AS ours`)
      const [waiting] = yield* counts(sql`SELECT count(*)::int AS due FROM (
        SELECT 1 FROM ${due} WHERE app_id = ${appId} AND ${key} = ${queue} LIMIT ${dueAtMost}) d`)
      const room = Math.min(ids.length, dueAtMost - (waiting?.due ?? 0))
      if (lock?.ours !== true || room === 0) return { made: 0, next: "later" } as const
      const [row] = yield* pages(sql`
      WITH page AS MATERIALIZED (
        SELECT v.id, ${type} AS type, v.created_at FROM events v
        WHERE app_id = ${appId} AND mode = ${mode} AND (created_at, id) > (${iso(from.at)}::timestamptz, ${from.id})
          AND created_at <= ${iso(until)}::timestamptz ${before === undefined ? sql`` : sql`AND created_at < ${iso(before)}::timestamptz`}
        ORDER BY created_at, id LIMIT ${room}
      ),
      wanted AS MATERIALIZED (
        SELECT p.id, p.created_at, row_number() OVER (ORDER BY p.created_at, p.id) AS place
        FROM page p JOIN ${endpoints} e ON e.app_id = ${appId} AND e.${key} = ${queue} AND e.enabled AND p.type = ANY (${subscription})
        WHERE p.type <> 'webhook.test' ${types === undefined ? sql`` : sql`AND p.type = ANY (${types}::text[])`}
          ${
            isNamed
              ? sql`AND NOT EXISTS (SELECT 1 FROM named_deliveries d WHERE d.app_id = ${appId} AND d.event_id = p.id AND d.queue = ${queue} AND d.status = 'due')`
              : sql`AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.app_id = ${appId} AND d.id = p.id AND d.event_id = p.id AND d.status = 'due')
          AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.app_id = ${appId} AND d.event_id = p.id AND d.id <> d.event_id AND d.status = 'due')`
          }
      ),
      last AS (SELECT created_at, id FROM page ORDER BY created_at DESC, id DESC LIMIT 1)
      SELECT (SELECT count(*)::int FROM page) AS seen, (SELECT count(*)::int FROM wanted) AS changed,
        (SELECT created_at FROM last) AS at, (SELECT id FROM last) AS id,
        ARRAY(SELECT w.id FROM wanted w ORDER BY w.place) AS events,
        -- An event's own time keeps the order of the events; those of one millisecond keep the list's.
        ARRAY(SELECT (w.created_at + w.place * interval '1 microsecond')::text FROM wanted w ORDER BY w.place) AS times`)
      if (row !== undefined && row.changed > 0) {
        // Separate statements, because the first one locks the month of its events until the commit.
        const made = sql`unnest(${ids.slice(0, row.changed)}::text[], ${row.events}::text[], ${row.times}::text[]::timestamptz[]) AS f(id, event_id, due_at)`
        const [columns, values] = isNamed
          ? [sql`mode, endpoint, queue`, sql`${mode}, ${endpoint}, ${queue}`]
          : [sql`mode`, sql`${mode}`]
        yield* sql`INSERT INTO ${deliveries} (app_id, id, ${columns}, event_id, status, next_attempt_at, created_at)
          SELECT ${appId}, f.id, ${values}, f.event_id, 'due', f.due_at, ${iso(until)}::timestamptz FROM ${made}`
        yield* sql`INSERT INTO ${due} (app_id, ${key}, next_attempt_at, id, created_at)
          SELECT ${appId}, ${queue}, f.due_at, f.id, ${iso(until)}::timestamptz FROM ${made}`
      }
      const made = row?.changed ?? 0
      if (made > 0) yield* trail.write(change)
      return { made, next: nextOf(row, room) }
    },
    (effect) => sql.withTransaction(effect),
    Effect.orDie
  )

  const purge = Effect.fn("WebhookDeliveries.purge")(function* (before: Instant, after: DeliveryCursor | null, limit: number) {
    const later = after === null ? sql.literal("true") : sql`(created_at, id) > (${iso(after.at)}::timestamptz, ${after.id})`
    const since = sql`UPDATE events_kept SET since = ${iso(before)}::timestamptz WHERE since < ${iso(before)}::timestamptz`
    // On Citus this is on another server than the events, and comes first.
    if (isDistributed) yield* since
    const purged = (of: TenantFilter) =>
      steps(sql`
      WITH old AS MATERIALIZED (
        SELECT app_id, id, created_at FROM events WHERE created_at < ${iso(before)}::timestamptz AND ${later} ${of("app_id")}
        ORDER BY created_at, id LIMIT ${limit}
      ),
      -- Locked, so that nobody asks for one again meanwhile: each event's own, and those of recoveries.
      own AS MATERIALIZED (
        SELECT d.* FROM (SELECT app_id, id FROM old ORDER BY app_id, id) o CROSS JOIN LATERAL (
          SELECT d.app_id, d.id, d.created_at, d.event_id, d.status FROM deliveries d
          WHERE d.app_id = o.app_id AND d.id = o.id AND d.event_id = o.id ${of("d.app_id")} FOR UPDATE) d
      ),
      recovered AS MATERIALIZED (
        SELECT d.* FROM (SELECT app_id, id FROM old ORDER BY app_id, id) o CROSS JOIN LATERAL (
          SELECT d.app_id, d.id, d.created_at, d.event_id, d.status FROM deliveries d
          WHERE d.app_id = o.app_id AND d.event_id = o.id AND d.id <> d.event_id ${of("d.app_id")} FOR UPDATE) d
      ),
      named AS MATERIALIZED (
        SELECT d.* FROM (SELECT app_id, id FROM old ORDER BY app_id, id) o CROSS JOIN LATERAL (
          SELECT d.app_id, d.id, d.event_id, d.status FROM named_deliveries d WHERE d.app_id = o.app_id AND d.event_id = o.id ${of("d.app_id")} FOR UPDATE) d
      ),
      locked AS MATERIALIZED (SELECT * FROM own UNION ALL SELECT * FROM recovered),
      free AS MATERIALIZED (
        SELECT o.app_id, o.id, o.created_at FROM old o WHERE NOT EXISTS (
          SELECT 1 FROM locked l WHERE l.app_id = o.app_id AND l.event_id = o.id AND l.status <> 'delivered')
          AND NOT EXISTS (SELECT 1 FROM named l WHERE l.app_id = o.app_id AND l.event_id = o.id AND l.status <> 'delivered')
      ),
      arrived AS (
        DELETE FROM deliveries d USING locked l JOIN free f ON f.app_id = l.app_id AND f.id = l.event_id
        WHERE d.app_id = l.app_id AND d.id = l.id AND d.created_at = l.created_at ${of("d.app_id")} RETURNING d.app_id, d.id, d.created_at
      ),
      arrived_named AS (
        DELETE FROM named_deliveries d USING named l JOIN free f ON f.app_id = l.app_id AND f.id = l.event_id
        WHERE d.app_id = l.app_id AND d.id = l.id ${of("d.app_id")} RETURNING d.app_id, d.id
      ),
      attempted AS (
        DELETE FROM delivery_attempts a USING (SELECT app_id, id FROM arrived UNION ALL SELECT app_id, id FROM arrived_named) d WHERE a.app_id = d.app_id AND a.delivery_id = d.id ${of("a.app_id")}
      ),
      removed AS (
        DELETE FROM events e USING free f WHERE e.app_id = f.app_id AND e.id = f.id AND e.created_at = f.created_at ${of("e.app_id")} RETURNING e.id
      ),
      ${isDistributed ? sql.literal("") : sql`since AS (${since} AND EXISTS (SELECT 1 FROM removed)),`}
      last AS (SELECT created_at, id FROM old ORDER BY created_at DESC, id DESC LIMIT 1)
      SELECT (SELECT count(*)::int FROM old) AS seen, (SELECT count(*)::int FROM removed) AS changed,
        (SELECT created_at FROM last) AS at, (SELECT id FROM last) AS id`)
    // A month's events are removed with their partition; deliveries to named endpoints are in none, and are removed afterwards.
    if (after === null)
      yield* everyTenant.sweep(
        (of) => sql`WITH old AS MATERIALIZED (
          SELECT d.app_id, d.id FROM named_deliveries d WHERE d.created_at < ${iso(before)}::timestamptz AND d.status = 'delivered' ${of("d.app_id")}
            AND NOT EXISTS (SELECT 1 FROM events e WHERE e.app_id = d.app_id AND e.id = d.event_id ${of("e.app_id")}) LIMIT ${limit} FOR UPDATE
        ),
        attempted AS (DELETE FROM delivery_attempts a USING old o WHERE a.app_id = o.app_id AND a.delivery_id = o.id ${of("a.app_id")})
        DELETE FROM named_deliveries d USING old o WHERE d.app_id = o.app_id AND d.id = o.id ${of("d.app_id")}`
      )
    const { rows } = yield* everyTenant.sweep(purged)
    return { removed: rows.reduce((sum, { changed }) => sum + changed, 0), next: firstOf(rows.map((row) => nextOf(row, limit))) }
  }, Effect.orDie)

  return { recover, purge }
}

/** A step that did not reach its limit was the last one. */
const nextOf = (step: typeof Step.Type | undefined, limit: number): DeliveryCursor | null =>
  step === undefined || step.seen < limit || step.at === null || step.id === null ? null : { at: step.at, id: step.id }

/** When several shards were walked in parallel, the next step begins at the first place where one of them has more. */
const firstOf = (places: ReadonlyArray<DeliveryCursor | null>): DeliveryCursor | null =>
  places.reduce((first, place) => (first === null || (place !== null && isBefore(place, first)) ? place : first), null)

const isBefore = (one: DeliveryCursor, other: DeliveryCursor): boolean =>
  one.at < other.at || (one.at === other.at && one.id < other.id)
