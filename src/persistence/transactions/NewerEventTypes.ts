import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { defaultSubscription, type EventType, type OutboxEvent } from "../../domain/Event.ts"
import { Reference } from "../../domain/Ids.ts"
import { iso } from "../../domain/Instant.ts"
import { DEFAULT_ENDPOINT, EndpointName, queueOf } from "../../domain/WebhookEndpoint.ts"
import { rowsOf } from "../connection/Rows.ts"

// A node of the previous release fails on an event type that it does not know: at a delivery with everything that it claimed,
// at an endpoint with every call about it. So the columns that it reads contain only its own types, and columns that it does
// not read contain the newer ones. The release after the next may write them directly, because every node then reads both
// forms.

/** The types that the previous release does not know. */
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

/** The `events.type` of a newer type, which the body has: a node of the previous release delivers the bytes unchanged. */
const CARRIER = "webhook.test" satisfies EventType

export const isNewer = (type: EventType): boolean => newer.includes(type)

/** The value of `events.type` for an event. */
export const storedType = (type: EventType): EventType => (isNewer(type) ? CARRIER : type)

/**
 * The value of `webhook_endpoints.events` for a list. The carrier is left out: a test event goes to every endpoint in any case,
 * and its type would bring every newer event as well.
 */
export const storedSubscription = (events: ReadonlyArray<EventType>): ReadonlyArray<EventType> =>
  events.filter((type) => !isNewer(type) && type !== CARRIER)

const arrayOf = (types: ReadonlyArray<EventType>) => `'{${types.join(",")}}'::text[]`

/** The type of an event, in SQL; `events` is the name of its row. */
export const typeSql = (events: string): string =>
  `CASE WHEN ${events}.type = '${CARRIER}' THEN coalesce(${events}.body::json ->> 'type', ${events}.type) ELSE ${events}.type END`

/**
 * The subscription of an endpoint, in SQL; `row` is the name of its row, with a dot. When a node of the previous release has
 * since set another list, that list counts, with the default of that release standing for the default of this one.
 */
export const subscriptionSql = (row: string): string => `CASE
  WHEN ${row}subscription_beside = ${row}events THEN ${row}subscription
  WHEN ${row}events = ${arrayOf(storedSubscription(defaultSubscription))} THEN ${arrayOf(defaultSubscription)}
  ELSE ${row}events END`

type Delivered = Pick<OutboxEvent, "id" | "appId" | "mode" | "at">

const deliveryIds = rowsOf(Schema.Struct({ id: Reference }))

/** Adds a delivery of an event to an endpoint, due at once, unless there is one. Returns its id. */
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

/** Writes an event that belongs to no money step, with its deliveries to the tenant's subscribed endpoints. */
export const tellNewer = (sql: SqlClient.SqlClient, event: OutboxEvent) =>
  Effect.andThen(
    sql`INSERT INTO events (app_id, id, mode, type, reference, body, created_at) VALUES (${event.appId}, ${event.id}, ${event.mode},
      ${storedType(event.type)}, ${event.reference}, ${event.body}, ${iso(event.at)}::timestamptz)`,
    deliverNewer(sql, [event])
  )

const endpointNames = rowsOf(Schema.Struct({ name: EndpointName }))

/** Delivers events of newer types to the tenant's subscribed endpoints: the functions of money steps know only the older types. */
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
