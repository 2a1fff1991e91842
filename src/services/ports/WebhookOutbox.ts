import { Context, type Effect, type Redacted } from "effect"
import { type DeliveryAttempt } from "../../domain/Delivery.ts"
import type { Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import { type WebhookEndpoint } from "../../domain/WebhookEndpoint.ts"

/** An endpoint to which a tenant's events of one mode are sent. */
export interface SigningEndpoint extends Pick<WebhookEndpoint, "appId" | "mode" | "name" | "url"> {
  readonly secret: Redacted.Redacted
  /** The secret before the last rotation, which signs beside the new one for 24 h; absent otherwise. */
  readonly previousSecret?: Redacted.Redacted
}

/** One delivery to make now, leased to the worker that claimed it. */
export interface DueDelivery {
  readonly id: Reference
  readonly endpoint: SigningEndpoint
  readonly eventId: Reference
  /** The type in the event's body. A newer release may have written one that `EventType` lacks. */
  readonly eventType: string
  /** The stored bytes of the event. */
  readonly body: string
  readonly attempts: number
  readonly createdAt: Instant
  /** The transaction that the event is about; null for a test event. */
  readonly reference?: Reference | null
  /** Trace context of the request that created that transaction. */
  readonly traceparent?: string | null
}

export interface FinishedAttempt extends DeliveryAttempt {
  readonly delivery: DueDelivery
}

export type AttemptOutcome =
  | { readonly _tag: "Delivered" }
  | { readonly _tag: "Again"; readonly at: Instant }
  /** Retries are exhausted. The delivery stays listed and can be redelivered. */
  | { readonly _tag: "Parked" }
  /** The endpoint answered that it is gone for good: the delivery is parked and the endpoint disabled. */
  | { readonly _tag: "Gone" }

/**
 * The outbox of webhook deliveries. `FloatLedger` writes an event and its delivery in the commit that caused it; this port
 * claims deliveries and records their attempts.
 *
 * Delivery: at least once. A claimed delivery belongs to one node for its lease; when that node dies it is claimed again, so
 * receivers must deduplicate by the event's id. Ordering: an endpoint's deliveries are claimed longest due first and may end in
 * any order; no endpoint waits for another. A delivery is never dropped: when its retries are exhausted it is parked.
 */
export class WebhookOutbox extends Context.Service<
  WebhookOutbox,
  {
    /** Claims up to `limit` due deliveries for `leaseMs`, at most `perEndpoint` of one endpoint at a time. */
    readonly claimDue: (
      now: Instant,
      limit: number,
      perEndpoint: number,
      leaseMs: number
    ) => Effect.Effect<ReadonlyArray<DueDelivery>>
    /**
     * Records the attempt and its consequences for delivery and endpoint. An endpoint that is gone, or that has only failed for
     * `FAILING_MS`, is disabled, unless its URL has changed since.
     */
    readonly recordAttempt: (attempt: FinishedAttempt, verdict: AttemptOutcome) => Effect.Effect<void>
  }
>()("gateway/services/ports/WebhookOutbox") {}
