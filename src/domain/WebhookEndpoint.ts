import { Schema } from "effect"
import type { EventType } from "./Event.ts"
import type { AppId, Mode } from "./Ids.ts"
import { type Instant, iso, isoOrNull } from "./Instant.ts"
import { secondAttemptEndedMs, type WebhookRetrySchedule } from "./WebhookRetrySchedule.ts"

/** The name of an endpoint, which its tenant chose: 1 to 32 of `a-z`, `0-9`, `_` and `-`. */
export const EndpointName = Schema.String.check(
  Schema.isPattern(/^[a-z0-9_-]{1,32}$/u, { expected: "a name of 1 to 32 of a-z, 0-9, _ and -" })
).pipe(Schema.brand("EndpointName"))
export type EndpointName = typeof EndpointName.Type

/** The endpoint that every release knows, and that calls without a name refer to. */
export const DEFAULT_ENDPOINT = EndpointName.make("default")
/** The most endpoints of a tenant in one mode; `default` always has its place among them. */
export const ENDPOINTS_AT_MOST = 5

/** The name of an endpoint's delivery queue: the mode for `default`, mode and name for any other. */
export const queueOf = (mode: Mode, name: EndpointName): string => (name === DEFAULT_ENDPOINT ? mode : `${mode}/${name}`)

/** Why the gateway disabled an endpoint: it answered 410, or every attempt failed for `FAILING_MS`. */
export const DisabledReason = Schema.Literals(["gone", "failing"]).annotate({
  identifier: "DisabledReason",
  description: "Why the gateway disabled the endpoint: it answered 410, or there were only failures for 120 hours"
})
export type DisabledReason = typeof DisabledReason.Type

const HOUR_MS = 3_600_000
/** Operators see a failing endpoint, and its alert fires, after this many milliseconds, but never before `secondAttemptEndedMs`. */
const SHOWN_FAILING_MS = 60_000
/** An endpoint that is being attempted, but whose oldest due webhook has waited longer than this, accepts less than it is sent. */
export const SLOW_MS = 90_000
/** After this many milliseconds of nothing but failures an endpoint is disabled. */
export const FAILING_MS = 120 * HOUR_MS
/** After a rotation the old secret also signs for this many milliseconds. */
export const ROTATION_MS = 24 * HOUR_MS

/** How long an endpoint has to fail until it is shown: as long as a second attempt may take, so one late answer is no outage. */
export const shownFailingMs = (schedule: WebhookRetrySchedule): number =>
  Math.max(SHOWN_FAILING_MS, secondAttemptEndedMs(schedule))

/** Where a tenant wants its events of one mode delivered, without its secret. */
export interface WebhookEndpoint {
  readonly appId: AppId
  readonly mode: Mode
  readonly name: EndpointName
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

/** An endpoint as its tenant sees it when it asks by name. */
export const namedEndpointView = (endpoint: WebhookEndpoint) => ({ name: endpoint.name, ...endpointView(endpoint) })

export const endpointView = (endpoint: WebhookEndpoint) => ({
  url: endpoint.url,
  events: endpoint.events,
  enabled: endpoint.enabled,
  disabled_reason: endpoint.disabledReason,
  failing_since: isoOrNull(endpoint.failingSince),
  is_test_mode: endpoint.mode === "test",
  created_at: iso(endpoint.createdAt),
  updated_at: iso(endpoint.updatedAt)
})
