import { Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type Delivery, type DeliveryAttempt, DeliveryStatus } from "../../domain/Delivery.ts"
import { EventType } from "../../domain/Event.ts"
import type { RateLimited } from "../../domain/errors/Retriable.ts"
import { AppId, Mode, Reference } from "../../domain/Ids.ts"
import { iso } from "../../domain/Instant.ts"
import { DEFAULT_ENDPOINT, EndpointName, queueOf } from "../../domain/WebhookEndpoint.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { type DeliveryCursor, type DeliveryQuery, WebhookDeliveries } from "../../services/ports/WebhookDeliveries.ts"
import { auditTrail } from "../audit/AuditTrail.ts"
import { EveryTenant } from "../cluster/EveryTenant.ts"
import { NOT_WHOLE } from "../cluster/ReferenceOwner.ts"
import { Distribution } from "../connection/Distribution.ts"
import { endpointTables, ofNamedEndpoints } from "../connection/EndpointTables.ts"
import { makeHeavyReads, ofOneMoment } from "../connection/HeavyReads.ts"
import { laterOf, Moment, rowsOf } from "../connection/Rows.ts"
import { addDelivery, typeSql } from "../transactions/NewerEventTypes.ts"
import { eventList } from "./EventList.ts"
import { eventSteps } from "./EventSteps.ts"

/** How many deliveries one page examines, however few have its status. */
const DELIVERIES_A_PAGE = 5_000
/** How many of a delivery's last attempts are shown: the whole schedule and some manual redeliveries. */
const ATTEMPTS_SHOWN = 20
/** A tenant's endpoint chooses the excerpts: a list ends when they are too long, as JSON, where a byte may become six. */
const EXCERPT_BYTES_SHOWN = 64 * 1024

const heads = rowsOf(
  Schema.Struct({
    id: Reference,
    appId: AppId,
    mode: Mode,
    endpoint: EndpointName,
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
    /** Null when the response is full. */
    excerpt: Schema.NullOr(Schema.String)
  })
)
const seenPlaces = rowsOf(Schema.Struct({ at: Moment, id: Schema.String }))
const owners = rowsOf(Schema.Struct({ appId: AppId, mode: Mode, name: EndpointName }))

/**
 * WebhookDeliveries on PostgreSQL: deliveries, delivery_attempts and events as tenants and operators see them. It shares these
 * tables with the money statements, which write events, and with WebhookOutboxPg, which claims due deliveries and records
 * attempts. Purging locks a delivery before it decides.
 */
export const WebhookDeliveriesPg = layerOf(WebhookDeliveries)(function* () {
  const sql = yield* SqlClient.SqlClient
  const heavy = makeHeavyReads(sql)
  const everyTenant = yield* EveryTenant
  const { isDistributed } = yield* Distribution
  const trail = auditTrail(sql, (yield* Vault).hash)

  /** The first deliveries that fit with their attempts' excerpts; at least one, if need be without its earlier excerpts. */
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
    sql.literal(`d.id, d.app_id AS "appId", d.mode, d.endpoint, d.event_id AS "eventId", ${typeSql("v")} AS "eventType", v.reference, d.status,
      d.next_attempt_at AS "nextAttemptAt", d.created_at AS "createdAt", d.completed_at AS "completedAt"`)

  const turnOf = <A>(page: Effect.Effect<A>, query: DeliveryQuery): Effect.Effect<A, RateLimited> =>
    hasNoIndex(query)
      ? Effect.catchTag(heavy(`${query.appId}:${query.mode}`)(ofOneMoment(sql)(page)), "SqlError", Effect.die)
      : page

  const { purge, recover } = eventSteps({ sql, trail, everyTenant, isDistributed })

  return {
    events: eventList(sql),
    recover,
    purge,

    list: Effect.fn("WebhookDeliveries.list")(function* (query) {
      const { after, appId, endpoint, limit, mode, status } = query
      const older =
        after === null ? sql.literal("true") : sql`(d.created_at, d.id) < (${iso(after.at)}::timestamptz, ${after.id})`
      const places = [DEFAULT_DELIVERIES, NAMED_DELIVERIES].filter(
        (_, at) => endpoint === null || (endpoint === DEFAULT_ENDPOINT) === (at === 0)
      )
      const own =
        endpoint === null || endpoint === DEFAULT_ENDPOINT ? sql`d.mode = ${mode}` : sql`d.queue = ${queueOf(mode, endpoint)}`
      /** The rows to show, with these columns and this status. */
      const of = (only: (place: DeliveryPlace) => string, shown: (place: DeliveryPlace) => string) =>
        sql.join(
          " UNION ALL ",
          false
        )(
          places.map(
            (place) =>
              sql`(SELECT ${sql.literal(shown(place))} FROM ${sql.literal(place.table)} d WHERE d.app_id = ${appId} AND ${own} AND ${older} AND ${sql.literal(only(place))})`
          )
        )
      const ordered = sql`ORDER BY d.created_at DESC, d.id DESC`
      const any = () => "true"
      const isWalked = hasNoIndex(query)
      const from = isWalked
        ? sql`(SELECT * FROM (${of(any, ({ columns }) => columns)}) d ${ordered} LIMIT ${DELIVERIES_A_PAGE}) d`
        : sql`(${of(status === null ? any : ({ only }) => only[status], ({ columns }) => columns)}) d`
      const rows = yield* heads(sql`
      SELECT ${columns} FROM ${from} JOIN events v ON v.app_id = ${appId} AND v.id = d.event_id
      WHERE ${isWalked ? sql.literal("d.status = 'delivered'") : sql.literal("true")} ${ordered} LIMIT ${limit + 1}`)
      const items = (yield* withAttempts(rows)).slice(0, limit)
      const end = items.map(({ createdAt, id }) => ({ at: createdAt, id })).at(-1) ?? null
      if (rows.length > items.length) return { items, next: end }
      if (!isWalked) return { items, next: null }
      const [seen = null] = yield* seenPlaces(sql`
      SELECT d.created_at AS at, d.id FROM (${of(any, () => "d.created_at, d.id")}) d ${ordered} OFFSET ${DELIVERIES_A_PAGE - 1} LIMIT 1`)
      return { items, next: seen === null || end === null ? seen : laterPlace(seen, end) }
    }, turnOf),

    find: Effect.fn("WebhookDeliveries.find")(function* (appId, mode, id) {
      const one = ({ columns, table }: DeliveryPlace) =>
        sql`SELECT ${sql.literal(columns)} FROM ${sql.literal(table)} d WHERE d.app_id = ${appId} AND d.id = ${id} AND d.mode = ${mode}`
      const rows = yield* heads(sql`
      SELECT ${columns} FROM (${one(DEFAULT_DELIVERIES)} UNION ALL ${one(NAMED_DELIVERIES)}) d
      JOIN events v ON v.app_id = ${appId} AND v.id = d.event_id`)
      return Option.fromUndefinedOr((yield* withAttempts(rows))[0])
    }),

    ofTransaction: Effect.fn("WebhookDeliveries.ofTransaction")(function* ({ appId, mode, reference }, steps, limit) {
      const rows = yield* heads(sql`
      SELECT ${columns} FROM events v CROSS JOIN LATERAL (
        SELECT ${sql.literal(DEFAULT_DELIVERIES.columns)} FROM deliveries d WHERE d.app_id = v.app_id AND d.id = v.id
        UNION ALL SELECT ${sql.literal(DEFAULT_DELIVERIES.columns)} FROM deliveries d WHERE d.app_id = v.app_id AND d.event_id = v.id AND d.id <> d.event_id
        UNION ALL SELECT ${sql.literal(NAMED_DELIVERIES.columns)} FROM named_deliveries d WHERE d.app_id = v.app_id AND d.event_id = v.id
      ) d
      WHERE v.app_id = ${appId} AND v.mode = ${mode} AND v.reference = ${reference}
        AND v.created_at = ANY (${steps.map(iso)}::timestamptz[])
      ORDER BY d.created_at, d.id LIMIT ${limit}`)
      return yield* withAttempts(rows)
    }),

    owner: Effect.fn("WebhookDeliveries.owner")(function* (id) {
      const { isWhole, rows } = yield* everyTenant.read((of) =>
        owners(sql`
        SELECT d.app_id AS "appId", d.mode, ${sql.literal(`'${DEFAULT_ENDPOINT}'`)} AS name FROM tenants t JOIN deliveries d ON d.app_id = t.app_id AND d.id = ${id}
        WHERE true ${of("t.app_id")} ${of("d.app_id")}
        UNION ALL
        SELECT d.app_id AS "appId", d.mode, d.endpoint AS name FROM tenants t JOIN named_deliveries d ON d.app_id = t.app_id AND d.id = ${id}
        WHERE true ${of("t.app_id")} ${of("d.app_id")}`)
      )
      if (rows.length === 0 && !isWhole)
        return yield* Effect.die(new Error(`${NOT_WHOLE}: whether there is a delivery ${id} cannot be said now`))
      return Option.fromUndefinedOr(rows[0])
    }, Effect.orDie),

    redeliver: Effect.fn("WebhookDeliveries.redeliver")(function* (redelivery) {
      const { appId, at, change, endpoint, id, mode } = redelivery
      const { deliveries, due, key, queue } = endpointTables(sql, mode, endpoint)
      const own = sql`app_id = ${appId} AND id = ${id} AND ${key} = ${queue}`
      const again = Effect.gen(function* () {
        // Locked before the statement that writes, so that everything it reads is as new as the row.
        yield* sql`SELECT 1 FROM ${deliveries} WHERE ${own} FOR UPDATE`
        const rows = yield* sql<{ readonly id: string; readonly before: string }>`
        WITH was AS MATERIALIZED (
          SELECT d.* FROM ${deliveries} d WHERE ${own}
            -- Whatever makes a delivery due reads its event, so that no month of events goes meanwhile.
            AND EXISTS (SELECT 1 FROM events v WHERE v.app_id = d.app_id AND v.id = d.event_id)
        ),
        due AS (
          UPDATE ${deliveries} d SET status = 'due', attempts = CASE WHEN d.status = 'due' THEN d.attempts ELSE 0 END,
            next_attempt_at = least(d.next_attempt_at, ${iso(at)}::timestamptz), completed_at = NULL
          FROM was w WHERE d.app_id = ${appId} AND d.id = w.id AND d.created_at = w.created_at
          RETURNING d.next_attempt_at, d.id
        ),
        sooner AS (
          UPDATE ${due} q SET next_attempt_at = due.next_attempt_at FROM was w JOIN due ON due.id = w.id
          WHERE q.app_id = ${appId} AND q.${key} = w.${key} AND q.next_attempt_at = w.next_attempt_at AND q.id = w.id
        )
        SELECT due.id, w.status AS before FROM due JOIN was w ON w.id = due.id`
        if (rows.some(({ before }) => before !== "due"))
          yield* sql`
          INSERT INTO ${due} (app_id, ${key}, next_attempt_at, id, created_at)
          SELECT app_id, ${key}, next_attempt_at, id, created_at FROM ${deliveries} WHERE app_id = ${appId} AND id = ${id} AND status = 'due'`
        return rows
      })
      const rows = yield* trail.with(again, change)
      return rows.length === 1
    }),

    deliver: Effect.fn("WebhookDeliveries.deliver")(
      function* (event, endpoint) {
        const { appId, at, body, id, mode, reference, type } = event
        yield* sql`INSERT INTO events (app_id, id, mode, type, reference, body, created_at)
        VALUES (${appId}, ${id}, ${mode}, ${type}, ${reference}, ${body}, ${iso(at)}::timestamptz)`
        return yield* addDelivery(sql, event, endpoint)
      },
      (effect) => sql.withTransaction(effect),
      Effect.orDie
    )
  }
})

interface DeliveryPlace {
  readonly table: "deliveries" | "named_deliveries"
  /** Its columns, in the order of the combined list. */
  readonly columns: string
  /** Written as in the partial indexes of parked and due deliveries, because a parameter would hide them from the planner. */
  readonly only: Readonly<Record<DeliveryStatus, string>>
}

const WHERE_DUE =
  "d.status = 'due' AND EXISTS (SELECT 1 FROM due_deliveries q WHERE q.app_id = d.app_id AND q.mode = d.mode AND q.next_attempt_at = d.next_attempt_at AND q.id = d.id)"
const COLUMNS = "d.event_id, d.status, d.next_attempt_at, d.created_at, d.completed_at"

const DEFAULT_DELIVERIES: DeliveryPlace = {
  table: "deliveries",
  columns: `d.id, d.app_id, d.mode, '${DEFAULT_ENDPOINT}' AS endpoint, ${COLUMNS}`,
  only: { due: WHERE_DUE, delivered: "d.status = 'delivered'", parked: "d.parked" }
}
const NAMED_DELIVERIES: DeliveryPlace = {
  table: "named_deliveries",
  columns: `d.id, d.app_id, d.mode, d.endpoint, ${COLUMNS}`,
  only: { ...DEFAULT_DELIVERIES.only, due: ofNamedEndpoints(WHERE_DUE) }
}

/** The other statuses have their own indexes. For this one many rows are examined. */
const hasNoIndex = ({ status }: DeliveryQuery): boolean => status === "delivered"

const laterPlace = laterOf(({ at }: DeliveryCursor) => at)

const attemptOf = ({ at, durationMs, excerpt, status }: AttemptRow): DeliveryAttempt => ({
  at,
  durationMs,
  status,
  excerpt: excerpt ?? ""
})

type AttemptRow = Omit<DeliveryAttempt, "excerpt"> & { readonly excerpt: string | null }
