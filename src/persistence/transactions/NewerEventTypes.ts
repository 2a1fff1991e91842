import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { defaultSubscription, type EventType, type OutboxEvent } from "../../domain/Event.ts"
import { iso } from "../../domain/Instant.ts"

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

/** A delivery of an event that is due at once; nothing where it has one. */
export const addDelivery = (sql: SqlClient.SqlClient, { appId, at, id, mode }: Delivered) =>
  Effect.andThen(
    sql`INSERT INTO deliveries (app_id, id, mode, event_id, status, next_attempt_at, created_at)
      VALUES (${appId}, ${id}, ${mode}, ${id}, 'due', ${iso(at)}::timestamptz, ${iso(at)}::timestamptz) ON CONFLICT DO NOTHING`,
    sql`INSERT INTO due_deliveries (app_id, mode, next_attempt_at, id, created_at)
      VALUES (${appId}, ${mode}, ${iso(at)}::timestamptz, ${id}, ${iso(at)}::timestamptz) ON CONFLICT DO NOTHING`
  )

/** Writes an event that is of no money step, with its delivery where the tenant's endpoint wants it. */
export const tellNewer = (sql: SqlClient.SqlClient, event: OutboxEvent) =>
  Effect.andThen(
    sql`INSERT INTO events (app_id, id, mode, type, reference, body, created_at) VALUES (${event.appId}, ${event.id}, ${event.mode},
      ${storedType(event.type)}, ${event.reference}, ${event.body}, ${iso(event.at)}::timestamptz)`,
    deliverNewer(sql, [event])
  )

/** Delivers events of newer types where the tenant's endpoint wants them: the functions of money steps see its older words only. */
export const deliverNewer = (sql: SqlClient.SqlClient, events: ReadonlyArray<OutboxEvent>) =>
  Effect.forEach(
    events,
    Effect.fnUntraced(function* (event) {
      const wanted =
        yield* sql`SELECT 1 FROM webhook_endpoints w WHERE w.app_id = ${event.appId} AND w.mode = ${event.mode} AND w.enabled
        AND ${event.type} = ANY (${sql.literal(subscriptionSql("w."))})`
      if (wanted.length > 0) yield* addDelivery(sql, event)
    }),
    { discard: true }
  )
