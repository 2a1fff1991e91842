import { Context, type Effect, type Redacted } from "effect"
import type { AppId, Mode, Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { EndpointName } from "../../domain/WebhookEndpoint.ts"

/** One of the places where a tenant wants its events of one mode. */
export interface SigningEndpoint {
  readonly appId: AppId
  readonly mode: Mode
  readonly name: EndpointName
  readonly url: string
  readonly secret: Redacted.Redacted
  /** The secret before the last rotation, which signs beside the new one for 24 h; absent otherwise. */
  readonly previousSecret?: Redacted.Redacted
}

/** One delivery to make now, leased to the worker that claimed it. */
export interface DueDelivery {
  readonly id: Reference
  readonly endpoint: SigningEndpoint
  readonly eventId: Reference
  /** As its body names it; a newer release may have written one that `EventType` does not have. */
  readonly eventType: string
  /** The frozen bytes. */
  readonly body: string
  readonly attempts: number
  readonly createdAt: Instant
  /** Of the transaction that it tells of; null of a test. */
  readonly reference?: Reference | null
  /** Trace context of the request that began the transaction that it tells of. */
  readonly traceparent?: string | null
}

export interface FinishedAttempt {
  readonly delivery: DueDelivery
  readonly at: Instant
  readonly durationMs: number
  /** Null when there was no answer. */
  readonly status: number | null
  /** The first bytes of the answer, or why there was none. */
  readonly excerpt: string
}

export type AttemptOutcome =
  | { readonly _tag: "Delivered" }
  | { readonly _tag: "Again"; readonly at: Instant }
  /** Never dropped: listed, and redeliverable. */
  | { readonly _tag: "Parked" }
  /** The endpoint said that it is gone for good: parked, and the endpoint disabled. */
  | { readonly _tag: "Gone" }

/**
 * The outbox of webhook deliveries. `FloatLedger` writes an event and its delivery in the commit that caused it; here they are claimed and
 * their attempts recorded.
 *
 * Delivery: at least once. A claimed delivery belongs to one node for its lease; when that node dies it is claimed again, so receivers must
 * tell repetitions by the event's id. Ordering: an endpoint's deliveries are claimed longest due first and may end in any order; no endpoint waits for
 * another. A delivery is never dropped: when its retries are used up it is parked.
 */
export class WebhookOutbox extends Context.Service<
  WebhookOutbox,
  {
    /** Takes up to `limit` due deliveries for `leaseMs`, at most `perEndpoint` of one endpoint at a time. */
    readonly claimDue: (
      now: Instant,
      limit: number,
      perEndpoint: number,
      leaseMs: number
    ) => Effect.Effect<ReadonlyArray<DueDelivery>>
    /**
     * Writes the attempt and what follows from it, for the endpoint as well: one that is gone, and one from which nothing but failures
     * came back for `FAILING_MS`, is disabled, unless it has another address by now.
     */
    readonly recordAttempt: (attempt: FinishedAttempt, verdict: AttemptOutcome) => Effect.Effect<void>
  }
>()("gateway/services/ports/WebhookOutbox") {}
