import { Schema } from "effect"
import type { EventType } from "./Event.ts"
import type { AppId, Mode, Reference } from "./Ids.ts"
import { type Instant, iso, isoOrNull } from "./Instant.ts"
import type { EndpointName } from "./WebhookEndpoint.ts"

/** Due: an attempt will be made. Parked: the schedule is over, or the endpoint answered 410; only a redelivery makes another. */
export const DeliveryStatus = Schema.Literals(["due", "delivered", "parked"]).annotate({
  identifier: "DeliveryStatus",
  description:
    "`due`: another attempt will be made. `delivered`: your endpoint answered 2xx. `parked`: no attempt is left; have it sent again"
})
export type DeliveryStatus = typeof DeliveryStatus.Type

export interface DeliveryAttempt {
  readonly at: Instant
  readonly durationMs: number
  /** Null when there was no answer. */
  readonly status: number | null
  /** The first bytes of the answer, or a sentence that says why there was none. */
  readonly excerpt: string
}

/** The delivery of one event to one endpoint. */
export interface Delivery {
  readonly id: Reference
  readonly appId: AppId
  readonly mode: Mode
  readonly endpoint: EndpointName
  readonly eventId: Reference
  readonly eventType: EventType
  /** The transaction that the event is about; null for `webhook.test`. */
  readonly reference: Reference | null
  readonly status: DeliveryStatus
  readonly nextAttemptAt: Instant | null
  readonly createdAt: Instant
  readonly completedAt: Instant | null
  /** The latest attempts, oldest first. */
  readonly attempts: ReadonlyArray<DeliveryAttempt>
}

/**
 * The only error that a tenant sees for an endpoint that the request did not reach. The exact cause would reveal names inside
 * our network and the owners of certificates, so it goes to our log only.
 */
export const NOT_REACHED =
  "The endpoint could not be reached. Its name must lead to public addresses only, and they must accept a TLS connection with a valid certificate."
/** For a loopback address, which only development allows: it reveals nothing. */
export const NOT_LISTENING =
  "The connection to this machine was refused: no program listens at the endpoint's address. Start your receiver, or set the endpoint to its port."
/** The endpoint received the request. */
export const CUT_OFF = "The connection ended before an answer."
export const noAnswerWithin = (ms: number): string => `no answer within ${ms} ms`

/** Attempts of earlier releases, which stored the network's own error, are shown without it. */
const ownWords = (excerpt: string): string =>
  excerpt === CUT_OFF || excerpt === NOT_LISTENING || /^no answer within \d+ ms$/.test(excerpt) ? excerpt : NOT_REACHED

export const deliveryView = (delivery: Delivery) => ({
  id: delivery.id,
  endpoint: delivery.endpoint,
  event_id: delivery.eventId,
  event_type: delivery.eventType,
  reference: delivery.reference,
  status: delivery.status,
  is_test_mode: delivery.mode === "test",
  next_attempt_at: isoOrNull(delivery.nextAttemptAt),
  created_at: iso(delivery.createdAt),
  completed_at: isoOrNull(delivery.completedAt),
  attempts: delivery.attempts.map(({ at, durationMs, excerpt, status }) => ({
    at: iso(at),
    duration_ms: durationMs,
    status,
    excerpt: status === null ? ownWords(excerpt) : excerpt
  }))
})
