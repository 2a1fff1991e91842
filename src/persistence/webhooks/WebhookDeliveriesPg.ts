import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type Delivery, type DeliveryAttempt, DeliveryStatus } from "../../domain/Delivery.ts"
import { EventType, type OutboxEvent } from "../../domain/Event.ts"
import { AppId, Mode, Reference } from "../../domain/Ids.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import { Vault } from "../../services/ports/Vault.ts"
import {
  type DeliveryCursor,
  type DeliveryQuery,
  type RecoveryStep,
  type Redelivery,
  WebhookDeliveries
} from "../../services/ports/WebhookDeliveries.ts"
import { auditTrail } from "../AuditTrail.ts"
import { Moment, rowsOf } from "../Rows.ts"

/** Of one delivery's attempts the last so many are shown: the whole schedule, and what was asked for by hand. */
const ATTEMPTS_SHOWN = 20
/** A tenant's own endpoint writes the excerpts: a list ends where they would make its answer large. Measured as JSON, where one byte may become six. */
const EXCERPT_BYTES_SHOWN = 64 * 1024

const heads = rowsOf(
  Schema.Struct({
    id: Reference,
    appId: AppId,
    mode: Mode,
    eventId: Reference,
    eventType: EventType,
    reference: Schema.NullOr(Reference),
    status: DeliveryStatus,
    nextAttemptAt: Schema.NullOr(Moment),
    createdAt: Moment,
    completedAt: Schema.NullOr(Moment)
  })
)
const attemptRows = rowsOf(
  Schema.Struct({
    deliveryId: Reference,
    at: Moment,
    durationMs: Schema.Number,
    status: Schema.NullOr(Schema.Number),
    /** Null where the answer is full. */
    excerpt: Schema.NullOr(Schema.String)
  })
)
const owners = rowsOf(Schema.Struct({ appId: AppId, mode: Mode }))
const steps = rowsOf(
  Schema.Struct({ seen: Schema.Number, changed: Schema.Number, at: Schema.NullOr(Moment), id: Schema.NullOr(Schema.String) })
)

/**
 * WebhookDeliveries on PostgreSQL: deliveries, delivery_attempts and events as tenants and operators see them. It shares these tables with
 * the money statements, which write events, and WebhookOutboxPg, which records attempts. Purging locks a delivery before it decides.
 */
export const WebhookDeliveriesPg = Layer.effect(
  WebhookDeliveries,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const trail = auditTrail(sql, (yield* Vault).hash)

    /**
     * The first of these deliveries, as many as the excerpts of their attempts leave room for; one at least, whose earlier excerpts are left
     * empty where even they find no room.
     */
    const withAttempts = Effect.fnUntraced(function* (rows: ReadonlyArray<Omit<Delivery, "attempts">>) {
      const [first] = rows
      if (first === undefined) return []
      const attempts = yield* attemptRows(sql`
        WITH raw AS (
          SELECT a.*, d.place,
            sum(octet_length(a.excerpt)) OVER (ORDER BY d.place, a.line DESC ROWS UNBOUNDED PRECEDING) <= ${EXCERPT_BYTES_SHOWN} AS fits
          FROM unnest(${rows.map(({ id }) => id)}::text[]) WITH ORDINALITY AS d(id, place)
          CROSS JOIN LATERAL (
            SELECT * FROM delivery_attempts t WHERE t.app_id = ${first.appId} AND t.delivery_id = d.id ORDER BY t.line DESC LIMIT ${ATTEMPTS_SHOWN}
          ) a
        ),
        -- Only what fits as it is is worth encoding.
        encoded AS (SELECT *, CASE WHEN fits THEN octet_length(to_json(excerpt)::text) ELSE ${EXCERPT_BYTES_SHOWN} + 1 END AS bytes FROM raw)
        SELECT delivery_id AS "deliveryId", at, duration_ms AS "durationMs", status,
          CASE WHEN place = 1 AND sum(bytes) OVER (ORDER BY place, line DESC ROWS UNBOUNDED PRECEDING) <= ${EXCERPT_BYTES_SHOWN} THEN excerpt
            WHEN sum(bytes) OVER (ORDER BY place) <= ${EXCERPT_BYTES_SHOWN} THEN excerpt END AS excerpt
        FROM encoded ORDER BY delivery_id, line`)
      const cut = new Set(
        attempts.flatMap(({ deliveryId, excerpt }) => (excerpt === null && deliveryId !== first.id ? [deliveryId] : []))
      )
      const end = rows.findIndex(({ id }) => cut.has(id))
      return rows.slice(0, end < 0 ? rows.length : end).map(
        (row): Delivery => ({
          ...row,
          attempts: attempts.filter(({ deliveryId }) => deliveryId === row.id).map(attemptOf)
        })
      )
    })

    const columns =
      sql.literal(`d.id, d.app_id AS "appId", d.mode, d.event_id AS "eventId", v.type AS "eventType", v.reference, d.status,
      d.next_attempt_at AS "nextAttemptAt", d.created_at AS "createdAt", d.completed_at AS "completedAt"`)

    const list = Effect.fn("WebhookDeliveries.list")(function* ({ after, appId, limit, mode, status }: DeliveryQuery) {
      // A status in a parameter would hide the index of the parked ones.
      const only = status === null ? sql.literal("true") : sql.literal(`d.status = '${status}'`)
      const older =
        after === null ? sql.literal("true") : sql`(d.created_at, d.id) < (${iso(after.at)}::timestamptz, ${after.id})`
      const rows = yield* heads(sql`
        SELECT ${columns} FROM deliveries d JOIN events v ON v.app_id = d.app_id AND v.id = d.event_id
        WHERE d.app_id = ${appId} AND d.mode = ${mode} AND ${only} AND ${older}
        ORDER BY d.created_at DESC, d.id DESC LIMIT ${limit + 1}`)
      const items = (yield* withAttempts(rows)).slice(0, limit)
      return { items, more: rows.length > items.length }
    })

    const find = Effect.fn("WebhookDeliveries.find")(function* (appId: AppId, mode: Mode, id: Reference) {
      const rows = yield* heads(sql`
        SELECT ${columns} FROM deliveries d JOIN events v ON v.app_id = d.app_id AND v.id = d.event_id
        WHERE d.app_id = ${appId} AND d.id = ${id} AND d.mode = ${mode}`)
      return Option.fromUndefinedOr((yield* withAttempts(rows))[0])
    })

    const owner = Effect.fn("WebhookDeliveries.owner")(function* (id: Reference) {
      const [row] = yield* owners(sql`
        SELECT d.app_id AS "appId", d.mode FROM tenants t JOIN deliveries d ON d.app_id = t.app_id AND d.id = ${id}`)
      return Option.fromUndefinedOr(row)
    })

    const redeliver = Effect.fn("WebhookDeliveries.redeliver")(function* ({ appId, at, change, id, mode }: Redelivery) {
      const rows = yield* trail.with(
        sql`
          UPDATE deliveries SET status = 'due', attempts = CASE WHEN status = 'due' THEN attempts ELSE 0 END,
            next_attempt_at = least(next_attempt_at, ${iso(at)}::timestamptz), completed_at = NULL
          -- Whatever makes a delivery due reads its event, so that no month of events goes meanwhile.
          WHERE app_id = ${appId} AND id = ${id} AND mode = ${mode}
            AND EXISTS (SELECT FROM events v WHERE v.app_id = deliveries.app_id AND v.id = deliveries.event_id)
          RETURNING id`,
        change
      )
      return rows.length === 1
    })

    const deliver = Effect.fn("WebhookDeliveries.deliver")(function* (event: OutboxEvent) {
      const { appId, at, body, id, mode, reference, type } = event
      yield* sql`
        WITH told AS (
          INSERT INTO events (app_id, id, mode, type, reference, body, created_at)
          VALUES (${appId}, ${id}, ${mode}, ${type}, ${reference}, ${body}, ${iso(at)}::timestamptz)
          RETURNING app_id, id, mode, created_at
        )
        INSERT INTO deliveries (app_id, id, mode, event_id, status, next_attempt_at, created_at)
        SELECT app_id, id, mode, id, 'due', created_at, created_at FROM told`
    }, Effect.orDie)

    const recover = Effect.fn("WebhookDeliveries.recover")(
      function* ({ appId, change, from, ids, mode, until }: RecoveryStep) {
        const [row] = yield* steps(sql`
        WITH page AS MATERIALIZED (
          SELECT id, type, created_at FROM events
          WHERE app_id = ${appId} AND mode = ${mode} AND (created_at, id) > (${iso(from.at)}::timestamptz, ${from.id})
            AND created_at <= ${iso(until)}::timestamptz
          ORDER BY created_at, id LIMIT ${ids.length}
        ),
        wanted AS MATERIALIZED (
          SELECT p.id, p.created_at, row_number() OVER (ORDER BY p.created_at, p.id) AS place
          FROM page p JOIN webhook_endpoints e ON e.app_id = ${appId} AND e.mode = ${mode} AND e.enabled AND p.type = ANY (e.events)
          WHERE p.type <> 'webhook.test' AND NOT EXISTS (
            SELECT FROM deliveries d WHERE d.app_id = ${appId} AND d.event_id = p.id AND d.status = 'due' AND d.attempts = 0)
        ),
        made AS (
          -- An event's own time keeps the order of the events; those of one millisecond keep the list's.
          INSERT INTO deliveries (app_id, id, mode, event_id, status, next_attempt_at, created_at)
          SELECT ${appId}, f.id, ${mode}, w.id, 'due', w.created_at + w.place * interval '1 microsecond', ${iso(until)}::timestamptz
          FROM wanted w JOIN unnest(${ids}::text[]) WITH ORDINALITY AS f(id, place) ON f.place = w.place
          RETURNING id
        ),
        last AS (SELECT created_at, id FROM page ORDER BY created_at DESC, id DESC LIMIT 1)
        SELECT (SELECT count(*)::int FROM page) AS seen, (SELECT count(*)::int FROM made) AS changed,
          (SELECT created_at FROM last) AS at, (SELECT id FROM last) AS id`)
        const made = row?.changed ?? 0
        if (made > 0) yield* trail.write(change)
        return { made, next: nextOf(row, ids.length) }
      },
      (effect) => sql.withTransaction(effect),
      Effect.orDie
    )

    const purge = Effect.fn("WebhookDeliveries.purge")(function* (before: Instant, after: DeliveryCursor | null, limit: number) {
      const later = after === null ? sql.literal("true") : sql`(created_at, id) > (${iso(after.at)}::timestamptz, ${after.id})`
      const [row] = yield* steps(sql`
        WITH old AS MATERIALIZED (
          SELECT app_id, id, created_at FROM events WHERE created_at < ${iso(before)}::timestamptz AND ${later}
          ORDER BY created_at, id LIMIT ${limit}
        ),
        locked AS MATERIALIZED (
          -- Locked, so that nobody asks for one again meanwhile.
          SELECT d.app_id, d.id, d.created_at, d.event_id, d.status FROM deliveries d JOIN old o ON d.app_id = o.app_id AND d.event_id = o.id
          ORDER BY d.app_id, d.id FOR UPDATE OF d
        ),
        free AS MATERIALIZED (
          SELECT o.app_id, o.id, o.created_at FROM old o WHERE NOT EXISTS (
            SELECT FROM locked l WHERE l.app_id = o.app_id AND l.event_id = o.id AND l.status <> 'delivered')
        ),
        arrived AS (
          DELETE FROM deliveries d USING locked l JOIN free f ON f.app_id = l.app_id AND f.id = l.event_id
          WHERE d.app_id = l.app_id AND d.id = l.id AND d.created_at = l.created_at RETURNING d.app_id, d.id, d.created_at
        ),
        attempted AS (
          DELETE FROM delivery_attempts a USING arrived d WHERE a.app_id = d.app_id AND a.delivery_id = d.id
        ),
        removed AS (
          DELETE FROM events e USING free f WHERE e.app_id = f.app_id AND e.id = f.id AND e.created_at = f.created_at RETURNING e.id
        ),
        since AS (UPDATE events_kept SET since = ${iso(before)}::timestamptz WHERE since < ${iso(before)}::timestamptz AND EXISTS (SELECT FROM removed)),
        last AS (SELECT created_at, id FROM old ORDER BY created_at DESC, id DESC LIMIT 1)
        SELECT (SELECT count(*)::int FROM old) AS seen, (SELECT count(*)::int FROM removed) AS changed,
          (SELECT created_at FROM last) AS at, (SELECT id FROM last) AS id`)
      return { removed: row?.changed ?? 0, next: nextOf(row, limit) }
    })

    return WebhookDeliveries.of({ list, find, owner, redeliver, deliver, recover, purge })
  })
)

const attemptOf = ({ at, durationMs, excerpt, status }: AttemptRow): DeliveryAttempt => ({
  at,
  durationMs,
  status,
  excerpt: excerpt ?? ""
})

type AttemptRow = Omit<DeliveryAttempt, "excerpt"> & { readonly excerpt: string | null }

interface Step {
  readonly seen: number
  readonly at: Instant | null
  readonly id: string | null
}

/** A step that did not fill its limit was the last one. */
const nextOf = (step: Step | undefined, limit: number): DeliveryCursor | null =>
  step === undefined || step.seen < limit || step.at === null || step.id === null ? null : { at: step.at, id: step.id }
