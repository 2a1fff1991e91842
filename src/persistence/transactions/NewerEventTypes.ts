import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { defaultSubscription, type EventType, type OutboxEvent } from "../../domain/Event.ts"
import { Reference } from "../../domain/Ids.ts"
import { iso } from "../../domain/Instant.ts"
import { DEFAULT_ENDPOINT, EndpointName, queueOf } from "../../domain/WebhookEndpoint.ts"
import { rowsOf } from "../connection/Rows.ts"

// A node of the release before stops at an event type that it does not know: at a delivery with all that it claimed, at an endpoint with every
// call about it. So what it reads holds its own words only, and what it does not read has the newer ones. The release after the next may write
// them as they are, because every node reads both forms.

/** The types that the release before does not know. */
const newer: ReadonlyArray<string> = [
  "collection.reversed",
  "collection.corrected",
  "collection.updated",
  "payout.corrected",
  "payout.updated",
  "fx.updated",
  "float.credited",
  "float.debited",
  "float.low"
] satisfies ReadonlyArray<EventType>

/** In `events.type` of an event of a newer type; the body's own `type` says which. A node of the release before delivers the bytes as they are. */
const CARRIER = "webhook.test" satisfies EventType

export const isNewer = (type: EventType): boolean => newer.includes(type)

/** The value of `events.type` for an event. */
export const storedType = (type: EventType): EventType => (isNewer(type) ? CARRIER : type)

/**
 * The value of `webhook_endpoints.events` for a list. The carrier is left out: a test goes to every endpoint anyway, and its word would
 * bring every newer event as well.
 */
export const storedSubscription = (events: ReadonlyArray<EventType>): ReadonlyArray<EventType> =>
  events.filter((type) => !isNewer(type) && type !== CARRIER)

const arrayOf = (types: ReadonlyArray<EventType>) => `'{${types.join(",")}}'::text[]`

/** The type of an event, in SQL; `events` is the name of its row. */
export const typeSql = (events: string): string =>
  `CASE WHEN ${events}.type = '${CARRIER}' THEN coalesce(${events}.body::json ->> 'type', ${events}.type) ELSE ${events}.type END`

/**
 * The subscription of an endpoint, in SQL; `row` is the name of its row, with a dot. Where a node of the previous release set another list
 * than the one that `subscription` stood beside, its list counts, and the default of that release stands for the one of this.
 */
export const subscriptionSql = (row: string): string => `CASE
  WHEN ${row}subscription_beside = ${row}events THEN ${row}subscription
  WHEN ${row}events = ${arrayOf(storedSubscription(defaultSubscription))} THEN ${arrayOf(defaultSubscription)}
  ELSE ${row}events END`

type Delivered = Pick<OutboxEvent, "id" | "appId" | "mode" | "at">

const deliveryIds = rowsOf(Schema.Struct({ id: Reference }))

/** A delivery of an event to an endpoint that is due at once; nothing where it has one. Answers its id. */
export const addDelivery = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { appId, at, id: eventId, mode }: Delivered,
  endpoint: EndpointName
) {
  const due = sql`${iso(at)}::timestamptz`
  if (endpoint === DEFAULT_ENDPOINT) {
    yield* sql`INSERT INTO deliveries (app_id, id, mode, event_id, status, next_attempt_at, created_at)
      VALUES (${appId}, ${eventId}, ${mode}, ${eventId}, 'due', ${due}, ${due}) ON CONFLICT DO NOTHING`
    yield* sql`INSERT INTO due_deliveries (app_id, mode, next_attempt_at, id, created_at)
      VALUES (${appId}, ${mode}, ${due}, ${eventId}, ${due}) ON CONFLICT DO NOTHING`
    return eventId
  }
  const queue = queueOf(mode, endpoint)
  const [named] = yield* deliveryIds(sql`SELECT delivery_id(${eventId}, ${endpoint}) AS id`)
  const id = named?.id ?? eventId
  yield* sql`INSERT INTO named_deliveries (app_id, id, queue, mode, endpoint, event_id, status, next_attempt_at, created_at)
    VALUES (${appId}, ${id}, ${queue}, ${mode}, ${endpoint}, ${eventId}, 'due', ${due}, ${due}) ON CONFLICT DO NOTHING`
  yield* sql`INSERT INTO named_due_deliveries (app_id, queue, next_attempt_at, id, created_at)
    VALUES (${appId}, ${queue}, ${due}, ${id}, ${due}) ON CONFLICT DO NOTHING`
  return id
})

/** Writes an event that is of no money step, with its deliveries where the tenant's endpoints want it. */
export const tellNewer = (sql: SqlClient.SqlClient, event: OutboxEvent) =>
  Effect.andThen(
    sql`INSERT INTO events (app_id, id, mode, type, reference, body, created_at) VALUES (${event.appId}, ${event.id}, ${event.mode},
      ${storedType(event.type)}, ${event.reference}, ${event.body}, ${iso(event.at)}::timestamptz)`,
    deliverNewer(sql, [event])
  )

const endpointNames = rowsOf(Schema.Struct({ name: EndpointName }))

/** Delivers events of newer types where the tenant's endpoints want them: the functions of money steps see its older words only. */
export const deliverNewer = (sql: SqlClient.SqlClient, events: ReadonlyArray<OutboxEvent>) =>
  Effect.forEach(
    events,
    Effect.fnUntraced(function* (event) {
      const { appId, mode, type } = event
      const wanting = yield* endpointNames(sql`
        SELECT ${DEFAULT_ENDPOINT} AS name FROM webhook_endpoints w WHERE w.app_id = ${appId} AND w.mode = ${mode} AND w.enabled
          AND ${type} = ANY (${sql.literal(subscriptionSql("w."))})
        UNION ALL
        SELECT n.name FROM named_endpoints n WHERE n.app_id = ${appId} AND n.mode = ${mode} AND n.enabled AND ${type} = ANY (n.events)`)
      yield* Effect.forEach(wanting, ({ name }) => addDelivery(sql, event, name), { discard: true })
    }),
    { discard: true }
  )
