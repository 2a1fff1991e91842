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

/** Where a list ordered by time goes on: after this row. */
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
  /** Where the page before ended; null for the first one. */
  readonly after: DeliveryCursor | null
}

export interface DeliveryPage {
  readonly items: ReadonlyArray<Delivery>
  readonly next: DeliveryCursor | null
}

/** The filters of a tenant's list of events; null for no filter. */
export interface EventFilter {
  /** Included. */
  readonly from: Instant | null
  /** Not included. */
  readonly to: Instant | null
  readonly type: EventType | null
  readonly reference: Reference | null
}

export interface EventPage {
  /** The bytes of each event, as they were frozen. */
  readonly items: ReadonlyArray<{ readonly body: string }>
  readonly next: DeliveryCursor | null
}

/** A delivery to this endpoint that is requested again, at `at`. */
export interface Redelivery {
  readonly appId: AppId
  readonly mode: Mode
  readonly endpoint: EndpointName
  readonly id: Reference
  readonly at: Instant
  readonly change: AuditedChange
}

/** One step of a recovery for one endpoint: events of its tenant and mode after `from` and up to `until`, oldest first. */
export interface RecoveryStep {
  readonly appId: AppId
  readonly mode: Mode
  readonly endpoint: EndpointName
  readonly from: DeliveryCursor
  /** Now. */
  readonly until: Instant
  /** Only events made before; absent for all up to now. */
  readonly before?: Instant
  /** Only events of these types; absent for all that the endpoint is subscribed to. */
  readonly types?: ReadonlyArray<EventType>
  /** Fresh ids; as many events are looked at. */
  readonly ids: ReadonlyArray<Reference>
  /** No more deliveries to the endpoint than these are due after it. */
  readonly dueAtMost: number
  readonly change: AuditedChange
}

/**
 * Webhook deliveries as tenants and operators see them, redelivery and recovery. A change and its audit entry are one commit. An event is never
 * changed: whatever is sent again has the same bytes and the same id.
 */
export class WebhookDeliveries extends Context.Service<
  WebhookDeliveries,
  {
    /**
     * Newest first, at most `limit`, of every status where none is given. Fewer where the excerpts of their attempts are long, or where few
     * of the deliveries that a page looks at have the status; `next` is where the list goes on, null at its end.
     */
    readonly list: (query: DeliveryQuery) => Effect.Effect<DeliveryPage>
    /**
     * The tenant's own events, the oldest first, at most `limit`, those after the place, whether or not they have a delivery. A page looks at a
     * bounded number of them: it may hold fewer, or none, and still say where the next one begins. Of one tenant one page is read at a time and
     * few wait: a further one is refused.
     */
    readonly events: (
      owner: { readonly appId: AppId; readonly mode: Mode },
      filter: EventFilter,
      page: PageAfter<DeliveryCursor>
    ) => Effect.Effect<EventPage, RateLimited>
    readonly find: (appId: AppId, mode: Mode, id: Reference) => Effect.Effect<Option.Option<Delivery>>
    /**
     * The deliveries of one transaction's events, oldest first, at most `limit`. `steps` are the moments of its history: an event is as old as
     * the step that caused it.
     */
    readonly ofTransaction: (
      record: Pick<Transaction, "appId" | "mode" | "reference">,
      steps: ReadonlyArray<Instant>,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Delivery>>
    /** The endpoint of a delivery, for operators, who know its id only. */
    readonly owner: (id: Reference) => Effect.Effect<Option.Option<EndpointId>>
    /**
     * Makes it due now, with the whole schedule before it where it had ended. One that is due is only brought forward, and an attempt
     * under way is left alone. False when the tenant has no such delivery.
     */
    readonly redeliver: (redelivery: Redelivery) => Effect.Effect<boolean>
    /**
     * Keeps an event that no money step caused and makes it due at once to this endpoint, whatever that is subscribed to. Twice makes two. Answers
     * the delivery.
     */
    readonly deliver: (event: OutboxEvent, endpoint: EndpointName) => Effect.Effect<Reference>
    /**
     * Makes a new delivery, due at once and in the order of their events, of everything the endpoint is subscribed to; not of
     * `webhook.test`, nor of an event that is due to it already. Nothing is made for a disabled or absent endpoint. `next` is where to go on; null
     * at the end; "later" where nothing was done, because as much is due as may be, or another recovery of the tenant's is at work.
     */
    readonly recover: (
      step: RecoveryStep
    ) => Effect.Effect<{ readonly made: number; readonly next: DeliveryCursor | "later" | null }>
    /**
     * Looks at `limit` events made before `before`, from `after` on, and removes those whose deliveries all arrived, or that never had one.
     * A delivery that is due or parked keeps its event. `next` is where to go on; null at the end.
     */
    readonly purge: (
      before: Instant,
      after: DeliveryCursor | null,
      limit: number
    ) => Effect.Effect<{ readonly removed: number; readonly next: DeliveryCursor | null }>
  }
>()("gateway/services/ports/WebhookDeliveries") {}
