import { Schema } from "effect"
import type { AppId, Mode, Reference } from "./Ids.ts"
import { type Instant, iso } from "./Instant.ts"
import { json } from "./Json.ts"
import type { Transaction } from "./Transaction.ts"

/** Every event type that a tenant can subscribe to (contract HOOK-6). */
export const EventType = Schema.Literals([
  "collection.requires_action",
  "collection.pending",
  "collection.successful",
  "collection.failed",
  "collection.expired",
  "collection.reversed",
  "collection.corrected",
  "collection.updated",
  "payout.pending",
  "payout.successful",
  "payout.failed",
  "payout.returned",
  "payout.corrected",
  "payout.updated",
  "fx.successful",
  "fx.failed",
  "fx.updated",
  "float.credited",
  "float.debited",
  "float.low",
  "webhook.test"
]).annotate({
  identifier: "EventType",
  description: "A kind of event"
})
export type EventType = typeof EventType.Type

/** The event types of an endpoint whose owner chose none: the terminal ones, and those that report a later movement of money. */
export const defaultSubscription = [
  "collection.successful",
  "collection.failed",
  "collection.expired",
  "collection.reversed",
  "collection.corrected",
  "payout.successful",
  "payout.failed",
  "payout.returned",
  "payout.corrected",
  "fx.successful",
  "fx.failed"
] as const satisfies ReadonlyArray<EventType>

const updates = { collection: "collection.updated", payout: "payout.updated", exchange: "fx.updated" } as const

/**
 * The event of a step: the type that the step names, or the type for "something else in the record changed". Null where the
 * tenant sees the record unchanged. So every version has its event (contract HOOK-9).
 */
export const tellingOf = (before: Transaction, next: Transaction, named: EventType | null): EventType | null =>
  named ?? (next.version === before.version ? null : updates[next.kind])

/** An event with its bytes frozen: every attempt and every replay sends exactly these. */
export interface OutboxEvent {
  readonly id: Reference
  readonly appId: AppId
  readonly mode: Mode
  readonly type: EventType
  /** The transaction that the event is about; null for `webhook.test`, and for an event about a float alone. */
  readonly reference: Reference | null
  readonly at: Instant
  readonly body: string
}

/** Freezes an event. `data` is the tenant-safe record that `View` builds. */
export const encodeEvent = (event: Omit<OutboxEvent, "body">, data: unknown): OutboxEvent => ({
  ...event,
  body: json({
    id: event.id,
    type: event.type,
    api_version: "v1",
    timestamp: iso(event.at),
    app_id: event.appId,
    is_test_mode: event.mode === "test",
    data
  })
})
