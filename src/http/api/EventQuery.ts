import { Effect } from "effect"
import { optional } from "../../domain/Description.ts"
import { EventType } from "../../domain/Event.ts"
import type { ValidationFailed } from "../../domain/errors/Terminal.ts"
import { Reference } from "../../domain/Ids.ts"
import type { DeliveryCursor, EventFilter } from "../../services/ports/WebhookDeliveries.ts"
import { DEFAULT_PAGE, MomentText, momentOf, pageQuery, positionOf } from "./Page.ts"

/** The query of `GET /v1/events` (contract HOOK-26). */
export const eventQuery = {
  from: optional(MomentText, "Only events of this moment or later; without it the list begins with the oldest that is kept"),
  to: optional(MomentText, "Only events before this moment"),
  type: optional(EventType, "Only events of this type"),
  reference: optional(Reference, "Only events of this transaction or exchange"),
  ...pageQuery
}

type EventQuery = { readonly [K in keyof typeof eventQuery]?: (typeof eventQuery)[K]["Type"] }
interface EventRequest {
  readonly filter: EventFilter
  readonly page: { readonly limit: number; readonly after: DeliveryCursor | null }
}

export const eventRequest = (query: EventQuery): Effect.Effect<EventRequest, ValidationFailed> =>
  Effect.map(positionOf(query.cursor), (place) => ({
    filter: { from: momentOf(query.from), to: momentOf(query.to), type: query.type ?? null, reference: query.reference ?? null },
    page: { limit: query.limit ?? DEFAULT_PAGE, after: place === null ? null : { at: place.createdAt, id: place.id } }
  }))
