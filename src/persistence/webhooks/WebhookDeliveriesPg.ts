import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type Delivery, type DeliveryAttempt, DeliveryStatus } from "../../domain/Delivery.ts"
import { EventType, type OutboxEvent } from "../../domain/Event.ts"
import { AppId, Mode, Reference } from "../../domain/Ids.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import { Vault } from "../../services/ports/Vault.ts"
import {
  type DeliveryCursor,
  type DeliveryQuery,
  type RecoveryStep,
  type Redelivery,
  WebhookDeliveries
} from "../../services/ports/WebhookDeliveries.ts"
import { type AuditTrail, auditTrail } from "../audit/AuditTrail.ts"
import { EveryTenant } from "../cluster/EveryTenant.ts"
import { NOT_WHOLE } from "../cluster/ReferenceOwner.ts"
import { advisoryLocks } from "../connection/AdvisoryLocks.ts"
import { Distribution } from "../connection/Distribution.ts"
import { laterOf, Moment, rowsOf } from "../connection/Rows.ts"
import type { TenantFilter } from "../connection/TenantFilter.ts"
import { addDelivery, subscriptionSql, typeSql } from "../transactions/NewerEventTypes.ts"
import { eventList } from "./EventList.ts"

/** So many deliveries one page looks at, however few of them have its status. */
const DELIVERIES_A_PAGE = 5_000
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
const places = rowsOf(Schema.Struct({ at: Moment, id: Schema.String }))
const owners = rowsOf(Schema.Struct({ appId: AppId, mode: Mode }))

/**
 * WebhookDeliveries on PostgreSQL: deliveries, delivery_attempts and events as tenants and operators see them. It shares these tables with
 * the money statements, which write events, and WebhookOutboxPg, which claims what is due and records attempts. Purging locks a delivery before it decides.
 */
export const WebhookDeliveriesPg = Layer.effect(
  WebhookDeliveries,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const everyTenant = yield* EveryTenant
    const { isDistributed } = yield* Distribution
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
      sql.literal(`d.id, d.app_id AS "appId", d.mode, d.event_id AS "eventId", ${typeSql("v")} AS "eventType", v.reference, d.status,
      d.next_attempt_at AS "nextAttemptAt", d.created_at AS "createdAt", d.completed_at AS "completedAt"`)

    const list = Effect.fn("WebhookDeliveries.list")(function* ({ after, appId, limit, mode, status }: DeliveryQuery) {
      const only = status === null ? sql.literal("true") : sql.literal(ofStatus[status])
      const older =
        after === null ? sql.literal("true") : sql`(d.created_at, d.id) < (${iso(after.at)}::timestamptz, ${after.id})`
      const ordered = sql`FROM deliveries d WHERE d.app_id = ${appId} AND d.mode = ${mode} AND ${older} ORDER BY d.created_at DESC, d.id DESC`
      // The other statuses have an index of their own.
      const isWalked = status === "delivered"
      const from = isWalked
        ? sql`(SELECT * ${ordered} LIMIT ${DELIVERIES_A_PAGE}) d`
        : sql`(SELECT * FROM deliveries d WHERE d.app_id = ${appId} AND d.mode = ${mode} AND ${older}) d`
      const rows = yield* heads(sql`
        SELECT ${columns} FROM ${from} JOIN events v ON v.app_id = ${appId} AND v.id = d.event_id
        WHERE ${only} ORDER BY d.created_at DESC, d.id DESC LIMIT ${limit + 1}`)
      const items = (yield* withAttempts(rows)).slice(0, limit)
      const end = items.map(({ createdAt, id }) => ({ at: createdAt, id })).at(-1) ?? null
      if (rows.length > items.length) return { items, next: end }
      if (!isWalked) return { items, next: null }
      const [seen = null] = yield* places(sql`SELECT d.created_at AS at, d.id ${ordered} OFFSET ${DELIVERIES_A_PAGE - 1} LIMIT 1`)
      return { items, next: seen === null || end === null ? seen : laterPlace(seen, end) }
    })

    const find = Effect.fn("WebhookDeliveries.find")(function* (appId: AppId, mode: Mode, id: Reference) {
      const rows = yield* heads(sql`
        SELECT ${columns} FROM deliveries d JOIN events v ON v.app_id = d.app_id AND v.id = d.event_id
        WHERE d.app_id = ${appId} AND d.id = ${id} AND d.mode = ${mode}`)
      return Option.fromUndefinedOr((yield* withAttempts(rows))[0])
    })

    const ofTransaction = Effect.fn("WebhookDeliveries.ofTransaction")(function* (
      { appId, mode, reference }: Pick<Transaction, "appId" | "mode" | "reference">,
      steps: ReadonlyArray<Instant>,
      limit: number
    ) {
      const rows = yield* heads(sql`
        SELECT ${columns} FROM events v CROSS JOIN LATERAL (
          SELECT o.* FROM deliveries o WHERE o.app_id = v.app_id AND o.id = v.id
          UNION ALL SELECT r.* FROM deliveries r WHERE r.app_id = v.app_id AND r.event_id = v.id AND r.id <> r.event_id
        ) d
        WHERE v.app_id = ${appId} AND v.mode = ${mode} AND v.reference = ${reference}
          AND v.created_at = ANY (${steps.map(iso)}::timestamptz[])
        ORDER BY d.created_at, d.id LIMIT ${limit}`)
      return yield* withAttempts(rows)
    })

    const owner = Effect.fn("WebhookDeliveries.owner")(function* (id: Reference) {
      const { isWhole, rows } = yield* everyTenant.read((of) =>
        owners(sql`
          SELECT d.app_id AS "appId", d.mode FROM tenants t JOIN deliveries d ON d.app_id = t.app_id AND d.id = ${id}
          WHERE true ${of("t.app_id")} ${of("d.app_id")}`)
      )
      if (rows.length === 0 && !isWhole)
        return yield* Effect.die(new Error(`${NOT_WHOLE}: whether there is a delivery ${id} cannot be said now`))
      return Option.fromUndefinedOr(rows[0])
    }, Effect.orDie)

    const redeliver = Effect.fn("WebhookDeliveries.redeliver")(function* ({ appId, at, change, id, mode }: Redelivery) {
      const again = Effect.gen(function* () {
        // Locked before the statement that writes, so that what it reads beside the row is as new as the row.
        yield* sql`SELECT 1 FROM deliveries WHERE app_id = ${appId} AND id = ${id} AND mode = ${mode} FOR UPDATE`
        const rows = yield* sql<{ readonly id: string; readonly before: string }>`
          WITH was AS MATERIALIZED (
            SELECT d.* FROM deliveries d WHERE d.app_id = ${appId} AND d.id = ${id} AND d.mode = ${mode}
              -- Whatever makes a delivery due reads its event, so that no month of events goes meanwhile.
              AND EXISTS (SELECT 1 FROM events v WHERE v.app_id = d.app_id AND v.id = d.event_id)
          ),
          due AS (
            UPDATE deliveries d SET status = 'due', attempts = CASE WHEN d.status = 'due' THEN d.attempts ELSE 0 END,
              next_attempt_at = least(d.next_attempt_at, ${iso(at)}::timestamptz), completed_at = NULL
            FROM was w WHERE d.app_id = ${appId} AND d.id = w.id AND d.created_at = w.created_at
            RETURNING d.next_attempt_at, d.id
          ),
          sooner AS (
            UPDATE due_deliveries q SET next_attempt_at = due.next_attempt_at FROM was w JOIN due ON due.id = w.id
            WHERE q.app_id = ${appId} AND q.mode = w.mode AND q.next_attempt_at = w.next_attempt_at AND q.id = w.id
          )
          SELECT due.id, w.status AS before FROM due JOIN was w ON w.id = due.id`
        if (rows.some(({ before }) => before !== "due"))
          yield* sql`
            INSERT INTO due_deliveries (app_id, mode, next_attempt_at, id, created_at)
            SELECT app_id, mode, next_attempt_at, id, created_at FROM deliveries WHERE app_id = ${appId} AND id = ${id} AND status = 'due'`
        return rows
      })
      const rows = yield* trail.with(again, change)
      return rows.length === 1
    })

    const deliver = Effect.fn("WebhookDeliveries.deliver")(function* (event: OutboxEvent) {
      const { appId, at, body, id, mode, reference, type } = event
      const delivered = Effect.gen(function* () {
        yield* sql`INSERT INTO events (app_id, id, mode, type, reference, body, created_at)
          VALUES (${appId}, ${id}, ${mode}, ${type}, ${reference}, ${body}, ${iso(at)}::timestamptz)`
        yield* addDelivery(sql, event)
      })
      yield* sql.withTransaction(delivered)
    }, Effect.orDie)

    const { purge, recover } = eventSteps({ sql, trail, everyTenant, isDistributed })

    return WebhookDeliveries.of({ list, events: eventList(sql), find, ofTransaction, owner, redeliver, deliver, recover, purge })
  })
)

/** As the indexes of the parked and of the due ones have it: a parameter would hide them. */
const ofStatus = {
  due: "d.status = 'due' AND EXISTS (SELECT 1 FROM due_deliveries q WHERE q.app_id = d.app_id AND q.mode = d.mode AND q.next_attempt_at = d.next_attempt_at AND q.id = d.id)",
  delivered: "d.status = 'delivered'",
  parked: "d.parked"
} as const satisfies Readonly<Record<DeliveryStatus, string>>

const laterPlace = laterOf(({ at }: DeliveryCursor) => at)

const attemptOf = ({ at, durationMs, excerpt, status }: AttemptRow): DeliveryAttempt => ({
  at,
  durationMs,
  status,
  excerpt: excerpt ?? ""
})

type AttemptRow = Omit<DeliveryAttempt, "excerpt"> & { readonly excerpt: string | null }

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

/** Steps of WebhookDeliveries that go through events by their age: those that are sent again, and those that are removed. */
const eventSteps = ({ everyTenant, isDistributed, sql, trail }: EventStorage) => {
  const [type, subscription] = [sql.literal(typeSql("v")), sql.literal(subscriptionSql("e."))]

  const recover = Effect.fn("WebhookDeliveries.recover")(
    function* ({ appId, before, change, dueAtMost, from, ids, mode, types, until }: RecoveryStep) {
      // Before the statements that read: what another recovery has made is due by then, and is skipped.
      const [lock] = yield* locks(sql`SELECT pg_try_advisory_xact_lock(${advisoryLocks.recoveries}, hashtext(${appId})) AS ours`)
      const [queue] = yield* counts(sql`SELECT count(*)::int AS due FROM (
        SELECT 1 FROM due_deliveries WHERE app_id = ${appId} AND mode = ${mode} LIMIT ${dueAtMost}) d`)
      const room = Math.min(ids.length, dueAtMost - (queue?.due ?? 0))
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
        FROM page p JOIN webhook_endpoints e ON e.app_id = ${appId} AND e.mode = ${mode} AND e.enabled AND p.type = ANY (${subscription})
        WHERE p.type <> 'webhook.test' ${types === undefined ? sql`` : sql`AND p.type = ANY (${types}::text[])`}
          AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.app_id = ${appId} AND d.id = p.id AND d.event_id = p.id AND d.status = 'due')
          AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.app_id = ${appId} AND d.event_id = p.id AND d.id <> d.event_id AND d.status = 'due')
      ),
      last AS (SELECT created_at, id FROM page ORDER BY created_at DESC, id DESC LIMIT 1)
      SELECT (SELECT count(*)::int FROM page) AS seen, (SELECT count(*)::int FROM wanted) AS changed,
        (SELECT created_at FROM last) AS at, (SELECT id FROM last) AS id,
        ARRAY(SELECT w.id FROM wanted w ORDER BY w.place) AS events,
        -- An event's own time keeps the order of the events; those of one millisecond keep the list's.
        ARRAY(SELECT (w.created_at + w.place * interval '1 microsecond')::text FROM wanted w ORDER BY w.place) AS times`)
      if (row !== undefined && row.changed > 0) {
        // Statements of their own: the first one holds the month of its events until the commit.
        const made = sql`unnest(${ids.slice(0, row.changed)}::text[], ${row.events}::text[], ${row.times}::text[]::timestamptz[]) AS f(id, event_id, due_at)`
        yield* sql`INSERT INTO deliveries (app_id, id, mode, event_id, status, next_attempt_at, created_at)
          SELECT ${appId}, f.id, ${mode}, f.event_id, 'due', f.due_at, ${iso(until)}::timestamptz FROM ${made}`
        yield* sql`INSERT INTO due_deliveries (app_id, mode, next_attempt_at, id, created_at)
          SELECT ${appId}, ${mode}, f.due_at, f.id, ${iso(until)}::timestamptz FROM ${made}`
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
    // On Citus it is on another server than the events, and comes first.
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
      locked AS MATERIALIZED (SELECT * FROM own UNION ALL SELECT * FROM recovered),
      free AS MATERIALIZED (
        SELECT o.app_id, o.id, o.created_at FROM old o WHERE NOT EXISTS (
          SELECT 1 FROM locked l WHERE l.app_id = o.app_id AND l.event_id = o.id AND l.status <> 'delivered')
      ),
      arrived AS (
        DELETE FROM deliveries d USING locked l JOIN free f ON f.app_id = l.app_id AND f.id = l.event_id
        WHERE d.app_id = l.app_id AND d.id = l.id AND d.created_at = l.created_at ${of("d.app_id")} RETURNING d.app_id, d.id, d.created_at
      ),
      attempted AS (
        DELETE FROM delivery_attempts a USING arrived d WHERE a.app_id = d.app_id AND a.delivery_id = d.id ${of("a.app_id")}
      ),
      removed AS (
        DELETE FROM events e USING free f WHERE e.app_id = f.app_id AND e.id = f.id AND e.created_at = f.created_at ${of("e.app_id")} RETURNING e.id
      ),
      ${isDistributed ? sql.literal("") : sql`since AS (${since} AND EXISTS (SELECT 1 FROM removed)),`}
      last AS (SELECT created_at, id FROM old ORDER BY created_at DESC, id DESC LIMIT 1)
      SELECT (SELECT count(*)::int FROM old) AS seen, (SELECT count(*)::int FROM removed) AS changed,
        (SELECT created_at FROM last) AS at, (SELECT id FROM last) AS id`)
    const { rows } = yield* everyTenant.sweep(purged)
    return { removed: rows.reduce((sum, { changed }) => sum + changed, 0), next: firstOf(rows.map((row) => nextOf(row, limit))) }
  }, Effect.orDie)

  return { recover, purge }
}

/** A step that did not fill its limit was the last one. */
const nextOf = (step: typeof Step.Type | undefined, limit: number): DeliveryCursor | null =>
  step === undefined || step.seen < limit || step.at === null || step.id === null ? null : { at: step.at, id: step.id }

/** Where several shards were looked through side by side, the next step begins where the first of them has more. */
const firstOf = (places: ReadonlyArray<DeliveryCursor | null>): DeliveryCursor | null =>
  places.reduce((first, place) => (first === null || (place !== null && isBefore(place, first)) ? place : first), null)

const isBefore = (one: DeliveryCursor, other: DeliveryCursor): boolean =>
  one.at < other.at || (one.at === other.at && one.id < other.id)
