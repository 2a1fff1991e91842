import { Context, type Effect, type Option } from "effect"
import type { Delivery, DeliveryStatus } from "../../domain/Delivery.ts"
import type { EventType, OutboxEvent } from "../../domain/Event.ts"
import type { RateLimited } from "../../domain/errors/Retriable.ts"
import type { AppId, Mode, Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import type { EndpointName } from "../../domain/WebhookEndpoint.ts"
import type { AuditedChange } from "./AuditLog.ts"
import type { PageAfter } from "./Page.ts"
import type { EndpointId } from "./WebhookEndpoints.ts"

/** Where a list ordered by time continues: after this row. */
export interface DeliveryCursor {
  readonly at: Instant
  readonly id: string
}

export interface DeliveryQuery {
  readonly appId: AppId
  readonly mode: Mode
  /** Null for every endpoint. */
  readonly endpoint: EndpointName | null
  /** Null for every status. */
  readonly status: DeliveryStatus | null
  readonly limit: number
  /** Where the previous page ended; null for the first page. */
  readonly after: DeliveryCursor | null
}

export interface DeliveryPage {
  readonly items: ReadonlyArray<Delivery>
  readonly next: DeliveryCursor | null
}

/** The filters of a tenant's list of events; null for no filter. */
export interface EventFilter {
  /** Inclusive. */
  readonly from: Instant | null
  /** Exclusive. */
  readonly to: Instant | null
  readonly type: EventType | null
  readonly reference: Reference | null
}

export interface EventPage {
  /** The stored bytes of each event. */
  readonly items: ReadonlyArray<{ readonly body: string }>
  readonly next: DeliveryCursor | null
}

/** A request to repeat a delivery to this endpoint at `at`. */
export interface Redelivery {
  readonly appId: AppId
  readonly mode: Mode
  readonly endpoint: EndpointName
  readonly id: Reference
  readonly at: Instant
  readonly change: AuditedChange
}

/** One step of a recovery for one endpoint: its tenant's events of its mode after `from` and up to `until`, oldest first. */
export interface RecoveryStep {
  readonly appId: AppId
  readonly mode: Mode
  readonly endpoint: EndpointName
  readonly from: DeliveryCursor
  /** The present time. */
  readonly until: Instant
  /** Only events created before this time; absent: all until now. */
  readonly before?: Instant
  /** Only events of these types; absent: all that the endpoint is subscribed to. */
  readonly types?: ReadonlyArray<EventType>
  /** Fresh ids for deliveries; the step examines as many events. */
  readonly ids: ReadonlyArray<Reference>
  /** The maximum of due deliveries for the endpoint after the step. */
  readonly dueAtMost: number
  readonly change: AuditedChange
}

/**
 * Webhook deliveries as tenants and operators see them, redelivery and recovery. A change and its audit entry are one commit.
 * An event never changes: every delivery of it has the same bytes and the same id.
 */
export class WebhookDeliveries extends Context.Service<
  WebhookDeliveries,
  {
    /**
     * Newest first, at most `limit`; `status` null: every status. A page may hold fewer deliveries when their excerpts are long
     * or few of the examined ones have the status; `next` is null only at the end of the list. Pages of delivered ones are read as
     * `events` are, and are refused like those.
     */
    readonly list: (query: DeliveryQuery) => Effect.Effect<DeliveryPage, RateLimited>
    /**
     * The tenant's events, oldest first, at most `limit` after the given place, whether or not they have a delivery. A page
     * examines a bounded number of events, so it may hold fewer items or none while `next` is set. Only one page per tenant is
     * read at a time and few may queue: any other request is refused with RateLimited.
     */
    readonly events: (
      owner: { readonly appId: AppId; readonly mode: Mode },
      filter: EventFilter,
      page: PageAfter<DeliveryCursor>
    ) => Effect.Effect<EventPage, RateLimited>
    readonly find: (appId: AppId, mode: Mode, id: Reference) => Effect.Effect<Option.Option<Delivery>>
    /**
     * The deliveries of one transaction's events, oldest first, at most `limit`. `steps` are the times of its history: an event
     * has the time of the step that caused it.
     */
    readonly ofTransaction: (
      record: Pick<Transaction, "appId" | "mode" | "reference">,
      steps: ReadonlyArray<Instant>,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Delivery>>
    /** The endpoint of a delivery, for operators, who have only the delivery's id. */
    readonly owner: (id: Reference) => Effect.Effect<Option.Option<EndpointId>>
    /**
     * Makes a delivery due now; when it had ended, it gets the whole retry schedule again. A due delivery is only brought
     * forward, and a running attempt is not disturbed. False when the tenant has no such delivery.
     */
    readonly redeliver: (redelivery: Redelivery) => Effect.Effect<boolean>
    /**
     * Stores an event that no money step caused and makes it due to this endpoint at once, whatever the endpoint is subscribed
     * to. A second call makes a second event. Returns the delivery's id.
     */
    readonly deliver: (event: OutboxEvent, endpoint: EndpointName) => Effect.Effect<Reference>
    /**
     * Creates a new delivery, due at once and in the order of their events, of everything that the endpoint is subscribed to,
     * except `webhook.test` and events that are already due to it. Creates none for a disabled or absent endpoint. `next` is
     * where to continue; null at the end; "later" when nothing was done, because the maximum is already due or another recovery
     * of the tenant is running.
     */
    readonly recover: (
      step: RecoveryStep
    ) => Effect.Effect<{ readonly made: number; readonly next: DeliveryCursor | "later" | null }>
    /**
     * Examines `limit` events created before `before`, after `after`, and removes those without a delivery or whose deliveries
     * were all delivered. A due or parked delivery keeps its event. `next` is where to continue; null at the end.
     */
    readonly purge: (
      before: Instant,
      after: DeliveryCursor | null,
      limit: number
    ) => Effect.Effect<{ readonly removed: number; readonly next: DeliveryCursor | null }>
  }
>()("gateway/services/ports/WebhookDeliveries") {}
