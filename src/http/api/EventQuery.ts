import { Option, Result } from "effect"
import { optional } from "../../domain/Description.ts"
import { EventType } from "../../domain/Event.ts"
import { type Issue, ValidationFailed } from "../../domain/errors/Terminal.ts"
import { Reference } from "../../domain/Ids.ts"
import { type Instant, instantOf } from "../../domain/Instant.ts"
import type { DeliveryCursor, EventFilter } from "../../services/ports/WebhookDeliveries.ts"
import { bounded, childPath, issueAt } from "../json/Issues.ts"
import { CURSOR_RULE, DEFAULT_PAGE, pageQuery, readCursor } from "./Page.ts"
import { Timestamp } from "./Wire.ts"

/** `GET /v1/events`: which of the caller's events (contract HOOK-26). */
export const eventQuery = {
  from: optional(Timestamp, "Only events of this moment or later; without it the list begins with the oldest that is kept"),
  to: optional(Timestamp, "Only events before this moment"),
  type: optional(EventType, "Only events of this type"),
  reference: optional(Reference, "Only events of this transaction or exchange"),
  ...pageQuery
}

type EventQuery = { readonly [K in keyof typeof eventQuery]?: (typeof eventQuery)[K]["Type"] }
interface EventRequest {
  readonly filter: EventFilter
  readonly page: { readonly limit: number; readonly after: DeliveryCursor | null }
}

/** The request for a page, or every mistake in it. */
export const eventRequest = (
  query: EventQuery,
  all: Readonly<Record<string, unknown>>
): Result.Result<EventRequest, ValidationFailed> => {
  const issues = bounded(mistakes(query, all))
  if (issues.length > 0) return Result.fail(new ValidationFailed({ issues }))
  return Result.succeed({
    filter: { from: momentOf(query.from), to: momentOf(query.to), type: query.type ?? null, reference: query.reference ?? null },
    page: { limit: query.limit ?? DEFAULT_PAGE, after: placeOf(query.cursor) }
  })
}

function* mistakes(query: EventQuery, all: Readonly<Record<string, unknown>>): Generator<Issue, void> {
  for (const name of ["from", "to"] as const)
    if (query[name] !== undefined && momentOf(query[name]) === null) yield issueAt(childPath(null, name), MOMENT_RULE)
  if (query.cursor !== undefined && placeOf(query.cursor) === null) yield issueAt(childPath(null, "cursor"), CURSOR_RULE)
  for (const name of Object.keys(all)) if (!Object.hasOwn(eventQuery, name)) yield issueAt(childPath(null, name), UNKNOWN_FILTER)
}

const MOMENT_RULE = "must be a moment in UTC such as 2026-01-31T12:00:00.000Z"
const UNKNOWN_FILTER = "is not a filter of this list"

const momentOf = (text: string | undefined): Instant | null =>
  text === undefined ? null : Option.getOrNull(Option.filter(instantOf(text), (at) => at >= 0))

const placeOf = (cursor: string | undefined): DeliveryCursor | null =>
  cursor === undefined ? null : Option.getOrNull(Option.map(readCursor(cursor), ({ createdAt, id }) => ({ at: createdAt, id })))
