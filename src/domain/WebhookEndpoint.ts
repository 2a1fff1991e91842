import { Schema } from "effect"
import type { EventType } from "./Event.ts"
import type { AppId, Mode } from "./Ids.ts"
import { type Instant, iso } from "./Instant.ts"

/** Why the gateway disabled an endpoint: it answered 410, or nothing but failures came back for `FAILING_MS`. */
export const DisabledReason = Schema.Literals(["gone", "failing"]).annotate({
  identifier: "DisabledReason",
  description: "Why the gateway disabled the endpoint: it answered 410, or there were only failures for 120 hours"
})
export type DisabledReason = typeof DisabledReason.Type

const HOUR_MS = 3_600_000
/** An endpoint that failed for so long is shown to operators. */
export const SHOWN_FAILING_MS = HOUR_MS / 4
/** No answer but failures for so long disables an endpoint. */
export const FAILING_MS = 120 * HOUR_MS
/** After a rotation the old secret signs beside the new one for so long. */
export const ROTATION_MS = 24 * HOUR_MS

/** Where a tenant wants its events of one mode, without its secret. */
export interface WebhookEndpoint {
  readonly appId: AppId
  readonly mode: Mode
  readonly url: string
  readonly events: ReadonlyArray<EventType>
  readonly enabled: boolean
  /** Null while it is enabled, and where its owner disabled it. */
  readonly disabledReason: DisabledReason | null
  /** Since when no attempt was accepted; null where the last one was, and before the first. */
  readonly failingSince: Instant | null
  readonly createdAt: Instant
  readonly updatedAt: Instant
}

/** An endpoint as its tenant sees it. */
export const endpointView = (endpoint: WebhookEndpoint) => ({
  url: endpoint.url,
  events: endpoint.events,
  enabled: endpoint.enabled,
  disabled_reason: endpoint.disabledReason,
  failing_since: endpoint.failingSince === null ? null : iso(endpoint.failingSince),
  is_test_mode: endpoint.mode === "test",
  created_at: iso(endpoint.createdAt),
  updated_at: iso(endpoint.updatedAt)
})
