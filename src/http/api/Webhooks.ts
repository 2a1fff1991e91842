import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { DeliveryStatus } from "../../domain/Delivery.ts"
import { described, optional } from "../../domain/Description.ts"
import { EventType } from "../../domain/Event.ts"
import { DEFAULT_ENDPOINT, DisabledReason, ENDPOINTS_AT_MOST, EndpointName } from "../../domain/WebhookEndpoint.ts"
import { eventQuery } from "./EventQuery.ts"
import { Event } from "./Events.ts"
import { group, NEEDS_NOTHING, NEXT_PAGE, operation } from "./Operation.ts"
import { pageOf, pageQuery } from "./Page.ts"
import { SignedRequest } from "./SignedRequest.ts"
import { Enveloped, Timestamp } from "./Wire.ts"

const isDistinct = Schema.makeFilter((events: ReadonlyArray<string>) => new Set(events).size === events.length, {
  expected: "a list without an event type twice"
})

/** `PUT /v1/webhooks/endpoint`, and by name: replaces the whole endpoint. A member that is left out gets its default. */
export const EndpointBody = Schema.Struct({
  url: described(Schema.String.annotate({ format: "uri" }), "Where events go: https, and a public address"),
  events: optional(
    Schema.Array(EventType).check(Schema.isMinLength(1, { expected: "a list of at least one event type" }), isDistinct),
    "Which events you want, each once; if left out, the final ones and those that say that money moved once more"
  ),
  enabled: optional(Schema.Boolean, "Whether events are sent; true if left out")
}).annotate({ identifier: "WebhookEndpointRequest", description: "Where events go. It replaces the whole endpoint" })

/** `POST /v1/webhooks/recover`. */
export const RecoverBody = Schema.Struct({
  endpoint: optional(EndpointName, `To which of your endpoints; \`${DEFAULT_ENDPOINT}\` if left out`),
  since: described(Timestamp, "A moment in UTC, at most 30 days ago"),
  until: optional(Timestamp, "Only events before this moment; without it up to now"),
  types: optional(
    Schema.Array(EventType).check(Schema.isMinLength(1, { expected: "a list of at least one event type" }), isDistinct),
    "Only events of these types, of those that the endpoint wants; if left out, all that it wants"
  )
}).annotate({ identifier: "RecoverEventsRequest", description: "From when on events are sent again" })

const Secret = described(Schema.String, "What signs the events: `whsec_` and 32 bytes in base64. Keep it: it is shown this once")

const endpoint = {
  url: described(Schema.String.annotate({ format: "uri" }), "Where events go"),
  events: described(Schema.Array(EventType), "Which events are sent"),
  enabled: described(Schema.Boolean, "Whether events are sent"),
  disabled_reason: described(Schema.NullOr(DisabledReason), "Why the gateway disabled it; null where it did not"),
  failing_since: described(
    Schema.NullOr(Timestamp),
    "Since when no attempt was accepted; null where the last one was, and before the first"
  ),
  is_test_mode: described(Schema.Boolean, "True where it is the endpoint of test mode"),
  created_at: described(Timestamp, "When it was created"),
  updated_at: described(Timestamp, "When it last changed")
}
const EndpointRecord = Schema.Struct(endpoint).annotate({
  identifier: "WebhookEndpoint",
  description: "Where your events of one mode go"
})
const name = described(EndpointName, "Its name, which you chose")
const NamedEndpointRecord = Schema.Struct({ name, ...endpoint }).annotate({
  identifier: "NamedWebhookEndpoint",
  description: "One of the places where your events of one mode go"
})
const NamedEndpoints = Schema.Array(NamedEndpointRecord).annotate({
  identifier: "NamedWebhookEndpoints",
  description: "Your endpoints of one mode"
})
const SetNamedEndpointRecord = Schema.Struct({ name, ...endpoint, secret: Schema.optionalKey(Secret) }).annotate({
  identifier: "SetNamedWebhookEndpoint",
  description: "The endpoint as it is now. `secret` is there only where this created it"
})
/** The secret is only in the response that created the endpoint. */
const SetEndpointRecord = Schema.Struct({ ...endpoint, secret: Schema.optionalKey(Secret) }).annotate({
  identifier: "SetWebhookEndpoint",
  description: "The endpoint as it is now. `secret` is there only where this created it"
})

const RotatedSecret = Schema.Struct({
  secret: Secret,
  previous_secret_until: described(Timestamp, "Until when the old secret signs as well")
}).annotate({ identifier: "RotatedSecret", description: "A new secret" })

const Attempt = Schema.Struct({
  at: described(Timestamp, "When it began"),
  duration_ms: described(Schema.Int, "How long it took, in milliseconds"),
  status: described(Schema.NullOr(Schema.Int), "The status that your endpoint answered; null where it did not"),
  excerpt: described(Schema.String, "The beginning of the answer, or why there was none")
}).annotate({ identifier: "DeliveryAttempt", description: "One attempt at a delivery" })

const DeliveryRecord = Schema.Struct({
  id: described(Schema.String, "The delivery's handle"),
  endpoint: described(EndpointName, "The endpoint that it goes to"),
  event_id: described(Schema.String, "The event's id: the `webhook-id` of every attempt"),
  event_type: EventType,
  reference: described(
    Schema.NullOr(Schema.String),
    "The transaction or exchange that the event tells of; null for `webhook.test` and for events of your float"
  ),
  status: DeliveryStatus,
  is_test_mode: described(Schema.Boolean, "True where the event is of test mode"),
  next_attempt_at: described(Schema.NullOr(Timestamp), "When the next attempt is due; null where none is"),
  created_at: described(Timestamp, "When it was created"),
  completed_at: described(Schema.NullOr(Timestamp), "When it was delivered or parked; null before"),
  attempts: described(Schema.Array(Attempt), "The last attempts, the oldest first")
}).annotate({ identifier: "Delivery", description: "One event on its way to one of your endpoints" })

const Recovery = Schema.Struct({
  deliveries: described(Schema.Int, "How many events will be sent again"),
  resume_since: described(Schema.NullOr(Timestamp), "Call again from this moment; null where all are done")
}).annotate({ identifier: "Recovery", description: "What a recovery did" })

/** For the paths of a named endpoint. */
const params = { name: described(EndpointName, `The endpoint's name: 1 to 32 of a-z, 0-9, _ and -`) }
const BY_NAME = "/v1/webhooks/endpoints/:name"

const namedEndpoints = [
  HttpApiEndpoint.get("namedEndpoints", "/v1/webhooks/endpoints", {
    success: Enveloped(NamedEndpoints)
  }).annotateMerge(
    operation(
      "List your webhook endpoints",
      `Where your events of the key's mode go, \`${DEFAULT_ENDPOINT}\` first. ${NEEDS_NOTHING}`
    )
  ),
  HttpApiEndpoint.get("namedEndpoint", BY_NAME, { params, success: Enveloped(NamedEndpointRecord) }).annotateMerge(
    operation("Get a webhook endpoint by name", `One of your endpoints of the key's mode. ${NEEDS_NOTHING}`, {
      errors: ["not_found", "validation_failed"]
    })
  ),
  HttpApiEndpoint.put("setNamedEndpoint", BY_NAME, {
    params,
    payload: EndpointBody,
    success: Enveloped(SetNamedEndpointRecord)
  }).annotateMerge(
    operation(
      "Set a webhook endpoint by name",
      `Creates the endpoint, or replaces the whole of it; what you leave out gets its default. The response that creates it holds its secret, and no later one does. Every endpoint has its own events, secret and failures, and gets each event that it wants once it is there. There are at most ${ENDPOINTS_AT_MOST} of a mode, \`${DEFAULT_ENDPOINT}\` among them.`
    )
  ),
  HttpApiEndpoint.delete("removeNamedEndpoint", BY_NAME, { params, success: Enveloped(NamedEndpointRecord) }).annotateMerge(
    operation(
      "Remove a webhook endpoint by name",
      "Stops the deliveries to it, and to no other. Events are kept for 30 days and can be recovered.",
      { errors: ["not_found", "validation_failed"] }
    )
  ),
  HttpApiEndpoint.post("rotateNamedSecret", `${BY_NAME}/rotate-secret`, {
    params,
    success: Enveloped(RotatedSecret)
  }).annotateMerge(
    operation(
      "Rotate the secret of a webhook endpoint",
      "Makes a new signing secret for this endpoint alone. For 24 hours the old one signs as well, so that you can change over.",
      { withoutBody: true, errors: ["not_found", "validation_failed"] }
    )
  ),
  HttpApiEndpoint.post("testNamed", `${BY_NAME}/test`, { params, success: Enveloped(DeliveryRecord) }).annotateMerge(
    operation(
      "Send a test event to a webhook endpoint",
      "Sends a `webhook.test` event to this endpoint alone, whatever it subscribes to.",
      { withoutBody: true, errors: ["not_found", "validation_failed"] }
    )
  )
] as const

export class WebhooksApi extends HttpApiGroup.make("webhooks")
  .add(
    HttpApiEndpoint.get("endpoint", "/v1/webhooks/endpoint", { success: Enveloped(EndpointRecord) }).annotateMerge(
      operation("Get your webhook endpoint", "Where your events of the key's mode go: the endpoint `default`.", {
        errors: ["not_found"]
      })
    ),
    HttpApiEndpoint.put("setEndpoint", "/v1/webhooks/endpoint", {
      payload: EndpointBody,
      success: Enveloped(SetEndpointRecord)
    }).annotateMerge(
      operation(
        "Set your webhook endpoint",
        "Replaces the whole endpoint `default`; what you leave out gets its default. The response that creates it holds the secret, and no later one does."
      )
    ),
    HttpApiEndpoint.delete("removeEndpoint", "/v1/webhooks/endpoint", { success: Enveloped(EndpointRecord) }).annotateMerge(
      operation("Remove your webhook endpoint", "Stops the deliveries. Events are kept for 30 days and can be recovered.", {
        errors: ["not_found"]
      })
    ),
    HttpApiEndpoint.post("rotateSecret", "/v1/webhooks/endpoint/rotate-secret", {
      success: Enveloped(RotatedSecret)
    }).annotateMerge(
      operation(
        "Rotate the webhook secret",
        "Makes a new signing secret. For 24 hours the old one signs as well, so that you can change over.",
        { withoutBody: true, errors: ["not_found"] }
      )
    ),
    HttpApiEndpoint.post("test", "/v1/webhooks/endpoint/test", { success: Enveloped(DeliveryRecord) }).annotateMerge(
      operation("Send a test event", "Sends a `webhook.test` event to your endpoint, whatever it subscribes to.", {
        withoutBody: true,
        errors: ["not_found", "validation_failed"]
      })
    ),
    HttpApiEndpoint.get("deliveries", "/v1/webhooks/deliveries", {
      query: {
        ...pageQuery,
        status: optional(DeliveryStatus, "Only those with this status"),
        endpoint: optional(EndpointName, "Only those to this endpoint")
      },
      success: Enveloped(pageOf(DeliveryRecord))
    }).annotateMerge(
      operation("List deliveries", `What was sent to your endpoints, with its last attempts, the newest first. ${NEXT_PAGE}`, {
        errors: ["validation_failed"]
      })
    ),
    HttpApiEndpoint.get("events", "/v1/events", { query: eventQuery, success: Enveloped(pageOf(Event)) }).annotateMerge(
      operation(
        "List events",
        `Your events of the key's mode, the oldest first, each with the bytes that its deliveries have, whether or not an endpoint wanted it. They are kept for 30 days at least. An event may be committed a moment after a younger one: where you read on from where you ended, begin some minutes earlier, and leave out the ids that you have. ${NEXT_PAGE} ${NEEDS_NOTHING}`,
        { errors: ["validation_failed"] }
      )
    ),
    HttpApiEndpoint.post("redeliver", "/v1/webhooks/deliveries/:id/redeliver", {
      params: { id: described(Schema.String, "The delivery's id") },
      success: Enveloped(DeliveryRecord)
    }).annotateMerge(
      operation("Redeliver an event", "Sends one event again: the same bytes under the same id.", {
        withoutBody: true,
        errors: ["not_found", "validation_failed"]
      })
    ),
    HttpApiEndpoint.post("recover", "/v1/webhooks/recover", {
      payload: RecoverBody,
      success: Enveloped(Recovery)
    }).annotateMerge(
      operation(
        "Recover events",
        "Sends every event since a moment again to one endpoint, or those before another moment and of some types, for example after an outage of yours. An event whose delivery is due already is skipped. One recovery of yours works at a time, and it stops while 10,000 deliveries are due: where the answer has `resume_since`, call again from there once they were delivered.",
        { errors: ["not_found"] }
      )
    ),
    ...namedEndpoints
  )
  .annotateMerge(group("Webhook endpoints", "Where your events go, and what became of them."))
  .middleware(SignedRequest) {}
