import { EventType } from "../../domain/Event.ts"
import { eventSchemaName, eventSummary } from "../api/Events.ts"
import { headerParameter } from "../api/Operation.ts"
import type { Tree } from "./OpenApiSchemas.ts"

/** The headers of Standard Webhooks 1.0 (contract HOOK-1). */
const parameters = [
  headerParameter("webhook-id", "The event's id: the same in every attempt and repetition"),
  headerParameter("webhook-timestamp", "When this attempt was made, in Unix seconds"),
  headerParameter(
    "webhook-signature",
    "One or more `v1,` and the base64 HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<body>`, with spaces between"
  )
]

const delivery = (operationId: string, summary: string, schemaName: string): Tree => ({
  post: {
    operationId,
    summary,
    description:
      "Verify the signature over the bytes of the body before you read it, remember the event's `id`, and answer within 15 seconds. " +
      "Events can come twice and in any order: of two copies of a record the one with the higher `version` is newer.",
    tags: ["events"],
    security: [],
    parameters,
    requestBody: {
      required: true,
      content: { "application/json": { schema: { $ref: `#/components/schemas/${schemaName}` } } }
    },
    responses: {
      "2XX": { description: "You have the event. Anything else is tried again: 12 attempts in about 76 hours" },
      "410": { description: "You want no more events: the endpoint is disabled" }
    }
  }
})

/** Shows the events as a separate group of the description. */
export const eventsTag: Tree = {
  name: "events",
  description: "What the gateway sends to your endpoint, signed as Standard Webhooks 1.0.",
  "x-displayName": "Events"
}

/** The webhooks that the gateway sends to a tenant's endpoint, by event type. */
export const webhooks: Tree = Object.fromEntries(
  EventType.literals.map((type) => [type, delivery(`events.${type}`, eventSummary(type), eventSchemaName(type))])
)

/** The same as a callback of setting an endpoint: any event goes to its URL. */
const callbackOf = (operationId: string): Tree => ({
  event: { "{$request.body#/url}": delivery(operationId, "Any event that the endpoint subscribes to", "Event") }
})

/** The callbacks of the operations that set an endpoint. */
export const endpointCallbacks: Readonly<Record<string, Tree>> = {
  "PUT /v1/webhooks/endpoint": callbackOf("events.any"),
  "PUT /v1/webhooks/endpoints/{name}": callbackOf("events.anyToNamed")
}
