import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { iso } from "../../domain/Instant.ts"
import type { PageAfter } from "../../services/ports/Page.ts"
import type { DeliveryCursor, EventFilter, WebhookDeliveries } from "../../services/ports/WebhookDeliveries.ts"
import { makeHeavyReads, ofOneMoment } from "../connection/HeavyReads.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import { typeSql } from "../transactions/NewerEventTypes.ts"

/** How many events one page examines, however few have its type. */
const EVENTS_A_PAGE = 5_000

const events = rowsOf(Schema.Struct({ at: Moment, id: Schema.String, body: Schema.String }))
const places = rowsOf(Schema.Struct({ at: Moment, id: Schema.String }))

type Owner = Parameters<WebhookDeliveries["Service"]["events"]>[0]

/**
 * A tenant's list of events, which walks the index `events_of_tenant`. No index contains an event's record. An event has the
 * time of the step that caused it, so the events of one record are found by the times of its history.
 */
export const eventList = (sql: SqlClient.SqlClient): WebhookDeliveries["Service"]["events"] => {
  const heavy = makeHeavyReads(sql)
  const type = sql.literal(typeSql("e"))

  const inTime = ({ appId, mode }: Owner, { from, reference, to }: EventFilter, after: DeliveryCursor | null) => sql`
    e.app_id = ${appId} AND e.mode = ${mode}
    AND e.created_at >= ${from === null ? "-infinity" : iso(from)}::timestamptz
    AND e.created_at < ${to === null ? "infinity" : iso(to)}::timestamptz
    ${after === null ? sql`` : sql`AND (e.created_at, e.id) > (${iso(after.at)}::timestamptz, ${after.id})`}
    ${
      reference === null
        ? sql``
        : sql`AND e.reference = ${reference}
          AND e.created_at = ANY (ARRAY(SELECT j.at FROM journal j WHERE j.app_id = ${appId} AND j.reference = ${reference}))`
    }`

  const pageOf = Effect.fnUntraced(function* (owner: Owner, filter: EventFilter, { after, limit }: PageAfter<DeliveryCursor>) {
    const walked = sql`FROM events e WHERE ${inTime(owner, filter, after)} ORDER BY e.created_at, e.id`
    const atMost = filter.type === null ? limit + 1 : EVENTS_A_PAGE
    const found = yield* events(sql`
      SELECT e.created_at AS at, e.id, e.body FROM (SELECT e.created_at, e.id, e.type, e.body ${walked} LIMIT ${atMost}) e
      WHERE ${filter.type}::text IS NULL OR ${type} = ${filter.type} ORDER BY e.created_at, e.id LIMIT ${limit + 1}`)
    const items = found.slice(0, limit)
    const last = items.at(-1)
    if (found.length > limit && last !== undefined) return { items, next: { at: last.at, id: last.id } }
    if (filter.type === null) return { items, next: null }
    const [seen] = yield* places(sql`SELECT e.created_at AS at, e.id ${walked} OFFSET ${EVENTS_A_PAGE - 1} LIMIT 1`)
    return { items, next: seen ?? null }
  })

  // In one snapshot: old events that are removed between two statements would shift the last examined place.
  return Effect.fn("WebhookDeliveries.events")((owner, filter, page) =>
    heavy(`${owner.appId}:${owner.mode}`)(ofOneMoment(sql)(pageOf(owner, filter, page))).pipe(
      Effect.catchTag("SqlError", Effect.die)
    )
  )
}
