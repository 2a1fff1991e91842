import { Context, type Effect, type Option, type Redacted } from "effect"
import type { AppId, Mode } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { WebhookEndpoint } from "../../domain/WebhookEndpoint.ts"
import type { AuditedChange } from "./AuditLog.ts"

export type EndpointId = Pick<WebhookEndpoint, "appId" | "mode" | "name">

/** An endpoint as the tenant configures it. */
export interface EndpointSettings extends EndpointId, Pick<WebhookEndpoint, "url" | "events" | "enabled"> {}

export interface PutEndpoint extends EndpointSettings {
  readonly secret: Redacted.Redacted
  /** Until when the old secret also signs. Null keeps the old secret and ignores the given one, unless the endpoint is new. */
  readonly rotatesUntil: Instant | null
  readonly at: Instant
  readonly change: AuditedChange
}

export interface SecretRotation extends EndpointId {
  readonly secret: Redacted.Redacted
  /** Until when the old secret also signs. */
  readonly until: Instant
  readonly at: Instant
  readonly change: AuditedChange
}

export interface EndpointPut {
  readonly endpoint: WebhookEndpoint
  /** False when the endpoint existed already. */
  readonly created: boolean
}

/**
 * The webhook endpoints of each tenant and mode, at most `ENDPOINTS_AT_MOST`, with their sealed secrets. A change and its audit
 * entry are one commit; the last `put` wins.
 */
export class WebhookEndpoints extends Context.Service<
  WebhookEndpoints,
  {
    readonly find: (id: EndpointId) => Effect.Effect<Option.Option<WebhookEndpoint>>
    /** All endpoints of a tenant and mode, ordered by name, `default` first. */
    readonly list: (appId: AppId, mode: Mode) => Effect.Effect<ReadonlyArray<WebhookEndpoint>>
    /**
     * Creates the endpoint with this secret, or changes the existing one and clears its failures. An existing endpoint keeps
     * its secret unless `rotatesUntil` is set; the old secret then signs beside the given one until that time. Repeating the
     * call changes only the time, and writes no audit row. None, and nothing changes, when the tenant already has the maximum
     * number of endpoints, also when several are created at once.
     */
    readonly put: (command: PutEndpoint) => Effect.Effect<Option.Option<EndpointPut>>
    /** Replaces the secret. The old one signs beside it until `until`; an even older one stops. False without an endpoint. */
    readonly rotate: (rotation: SecretRotation) => Effect.Effect<boolean>
    /** Deletes up to `limit` old secrets that stopped signing before `before`. Returns the number deleted. */
    readonly forgetOldSecrets: (before: Instant, limit: number) => Effect.Effect<number>
    /**
     * Removes the endpoint and returns it; none when there was none. Its events and deliveries are kept. Its due deliveries are
     * parked, except for `default`, where they wait for the next endpoint of that name.
     */
    readonly remove: (id: EndpointId, change: AuditedChange) => Effect.Effect<Option.Option<WebhookEndpoint>>
  }
>()("gateway/services/ports/WebhookEndpoints") {}
