import { Context, type Effect, type Option, type Redacted } from "effect"
import type { EventType } from "../../domain/Event.ts"
import type { AppId, Mode } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { EndpointName, WebhookEndpoint } from "../../domain/WebhookEndpoint.ts"
import type { AuditedChange } from "./AuditLog.ts"

export interface EndpointId {
  readonly appId: AppId
  readonly mode: Mode
  readonly name: EndpointName
}

/** An endpoint as its owner wants it. */
export interface EndpointSettings extends EndpointId {
  readonly url: string
  readonly events: ReadonlyArray<EventType>
  readonly enabled: boolean
}

export interface PutEndpoint extends EndpointSettings {
  readonly secret: Redacted.Redacted
  /** Until when the old secret signs as well; null keeps the old secret and drops the given one, unless the endpoint is new. */
  readonly rotatesUntil: Instant | null
  readonly at: Instant
  readonly change: AuditedChange
}

export interface SecretRotation extends EndpointId {
  readonly secret: Redacted.Redacted
  /** Until when the old secret signs as well. */
  readonly until: Instant
  readonly at: Instant
  readonly change: AuditedChange
}

export interface EndpointPut {
  readonly endpoint: WebhookEndpoint
  /** False where one stood before. */
  readonly created: boolean
}

/** The webhook endpoints of each tenant and mode, at most `ENDPOINTS_AT_MOST`, and their sealed secrets. A change and its audit entry are one commit; the last `put` wins. */
export class WebhookEndpoints extends Context.Service<
  WebhookEndpoints,
  {
    readonly find: (id: EndpointId) => Effect.Effect<Option.Option<WebhookEndpoint>>
    /** All of a tenant's of one mode, by name, `default` first. */
    readonly list: (appId: AppId, mode: Mode) => Effect.Effect<ReadonlyArray<WebhookEndpoint>>
    /**
     * Creates it with this secret, or changes the one that stands and forgets its failures. That one keeps its own secret, unless
     * `rotatesUntil` says until when the old one signs beside the given one. The same again changes nothing but its time, and nothing is written down.
     * None, and nothing is changed, where it would be one too many; of several at once no more are made.
     */
    readonly put: (command: PutEndpoint) => Effect.Effect<Option.Option<EndpointPut>>
    /** Gives it another secret; the old one signs beside it until `until`, an older one no more. False when there is no endpoint. */
    readonly rotate: (rotation: SecretRotation) => Effect.Effect<boolean>
    /** Deletes up to `limit` old secrets that have signed nothing since before; answers how many. */
    readonly forgetOldSecrets: (before: Instant, limit: number) => Effect.Effect<number>
    /** Its events are kept, and so are its deliveries; what is due to it is parked, but for `default`. Answers what was removed; none when there was nothing. */
    readonly remove: (id: EndpointId, change: AuditedChange) => Effect.Effect<Option.Option<WebhookEndpoint>>
  }
>()("gateway/services/ports/WebhookEndpoints") {}
