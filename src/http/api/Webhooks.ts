import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { DeliveryStatus } from "../../domain/Delivery.ts"
import { EventType } from "../../domain/Event.ts"
import { DisabledReason } from "../../domain/WebhookEndpoint.ts"
import { pageOf, pageQuery } from "../Page.ts"
import { SignedRequest } from "../SignedRequest.ts"
import { Enveloped } from "./Wire.ts"

const isDistinct = Schema.makeFilter((events: ReadonlyArray<string>) => new Set(events).size === events.length, {
  expected: "a list without an event type twice"
})

/** `PUT /v1/webhooks/endpoint` replaces the whole endpoint. A member that is left out gets its default. */
export const EndpointBody = Schema.Struct({
  /** Where events go: https, and a public address. */
  url: Schema.String,
  /** By default the terminal events and `payout.returned`. */
  events: Schema.optionalKey(
    Schema.Array(EventType).check(Schema.isMinLength(1, { expected: "a list of at least one event type" }), isDistinct)
  ),
  /** By default true. */
  enabled: Schema.optionalKey(Schema.Boolean)
})

/** `POST /v1/webhooks/recover`. */
export const RecoverBody = Schema.Struct({
  /** ISO-8601 UTC, at most 30 days ago. */
  since: Schema.String
})

const Timestamp = Schema.String
const Secret = Schema.String

const endpoint = {
  url: Schema.String,
  events: Schema.Array(EventType),
  enabled: Schema.Boolean,
  disabled_reason: Schema.NullOr(DisabledReason),
  is_test_mode: Schema.Boolean,
  created_at: Timestamp,
  updated_at: Timestamp
}
export const EndpointRecord = Schema.Struct(endpoint)
/** The secret is in the response that created the endpoint, and never again. */
export const SetEndpointRecord = Schema.Struct({ ...endpoint, secret: Schema.optionalKey(Secret) })

export const RotatedSecret = Schema.Struct({ secret: Secret, previous_secret_until: Timestamp })

const Attempt = Schema.Struct({
  at: Timestamp,
  duration_ms: Schema.Int,
  status: Schema.NullOr(Schema.Int),
  excerpt: Schema.String
})

export const DeliveryRecord = Schema.Struct({
  id: Schema.String,
  event_id: Schema.String,
  event_type: EventType,
  reference: Schema.NullOr(Schema.String),
  status: DeliveryStatus,
  is_test_mode: Schema.Boolean,
  next_attempt_at: Schema.NullOr(Timestamp),
  created_at: Timestamp,
  completed_at: Schema.NullOr(Timestamp),
  attempts: Schema.Array(Attempt)
})

export const Recovery = Schema.Struct({ deliveries: Schema.Int, resume_since: Schema.NullOr(Timestamp) })

export class WebhooksApi extends HttpApiGroup.make("webhooks")
  .add(
    HttpApiEndpoint.get("endpoint", "/v1/webhooks/endpoint", { success: Enveloped(EndpointRecord) }),
    HttpApiEndpoint.put("setEndpoint", "/v1/webhooks/endpoint", {
      payload: EndpointBody,
      success: Enveloped(SetEndpointRecord)
    }),
    HttpApiEndpoint.delete("removeEndpoint", "/v1/webhooks/endpoint", { success: Enveloped(EndpointRecord) }),
    HttpApiEndpoint.post("rotateSecret", "/v1/webhooks/endpoint/rotate-secret", { success: Enveloped(RotatedSecret) }),
    HttpApiEndpoint.post("test", "/v1/webhooks/endpoint/test", { success: Enveloped(DeliveryRecord) }),
    HttpApiEndpoint.get("deliveries", "/v1/webhooks/deliveries", {
      query: { ...pageQuery, status: Schema.optionalKey(DeliveryStatus) },
      success: Enveloped(pageOf(DeliveryRecord))
    }),
    HttpApiEndpoint.post("redeliver", "/v1/webhooks/deliveries/:id/redeliver", {
      params: { id: Schema.String },
      success: Enveloped(DeliveryRecord)
    }),
    HttpApiEndpoint.post("recover", "/v1/webhooks/recover", { payload: RecoverBody, success: Enveloped(Recovery) })
  )
  .middleware(SignedRequest) {}
