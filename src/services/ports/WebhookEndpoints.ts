import { Context, type Effect, type Option, type Redacted } from "effect"
import type { EventType } from "../../domain/Event.ts"
import type { AppId, Mode } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { WebhookEndpoint } from "../../domain/WebhookEndpoint.ts"
import type { AuditedChange } from "./AuditLog.ts"

export interface EndpointWish {
  readonly appId: AppId
  readonly mode: Mode
  readonly url: string
  readonly events: ReadonlyArray<EventType>
  readonly enabled: boolean
}

export interface PutEndpoint {
  readonly endpoint: WebhookEndpoint
  /** False where one stood before. */
  readonly created: boolean
}

/** The webhook endpoint of each tenant and mode, at most one, and its sealed secrets. A change and its audit entry are one commit; the last `put` wins. */
export class WebhookEndpoints extends Context.Service<
  WebhookEndpoints,
  {
    readonly find: (appId: AppId, mode: Mode) => Effect.Effect<Option.Option<WebhookEndpoint>>
    /**
     * Creates it with this secret, or changes the one that stands and forgets its failures. That one keeps its own secret, unless
     * `rotatesUntil` says until when the old one signs beside the given one. The same again changes nothing but its time, and nothing is written down.
     */
    readonly put: (
      wish: EndpointWish,
      secret: Redacted.Redacted,
      rotatesUntil: Instant | null,
      at: Instant,
      change: AuditedChange
    ) => Effect.Effect<PutEndpoint>
    /** Gives it another secret; the old one signs beside it until `until`, an older one no more. False when there is no endpoint. */
    readonly rotate: (
      appId: AppId,
      mode: Mode,
      secret: Redacted.Redacted,
      until: Instant,
      at: Instant,
      change: AuditedChange
    ) => Effect.Effect<boolean>
    /** Its events are kept. Answers what was removed; none when there was nothing. */
    readonly remove: (appId: AppId, mode: Mode, change: AuditedChange) => Effect.Effect<Option.Option<WebhookEndpoint>>
  }
>()("gateway/services/ports/WebhookEndpoints") {}
