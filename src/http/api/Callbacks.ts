import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { described } from "../../domain/Description.ts"
import { group, operation } from "./Operation.ts"
import { Enveloped } from "./Wire.ts"

const PATH = "/webhooks/:provider/:route_key"
const PART_PATH = `${PATH}/:part` as const

const Stored = Schema.Struct({
  status: described(Schema.Literal("stored"), "The callback is kept and will be looked into")
}).annotate({
  identifier: "StoredCallback",
  description: "What a provider is answered"
})

const callback = {
  params: {
    provider: described(Schema.String, "The provider's name"),
    route_key: described(Schema.String, "The secret name of one account at the provider")
  },
  success: Enveloped(Stored)
}

const callbackOfPart = {
  ...callback,
  params: {
    ...callback.params,
    part: described(Schema.String, "What a request of ours gave as the address of its result")
  }
}

const asCallback = { errors: ["unauthorized", "not_found", "payload_too_large", "malformed_request"] } as const

/**
 * The endpoint for providers' callbacks; tenants never call it. `route_key` is secret and names one account of the provider.
 * The body may be any bytes: the provider's signature is verified over exactly the bytes that arrived. A verified callback is
 * stored and answered with 200 before its content is processed.
 *
 * The edge refuses an unknown provider or key before it reads the body (404), and the handler an invalid signature (401).
 */
export class CallbacksApi extends HttpApiGroup.make("callbacks")
  .add(
    HttpApiEndpoint.post("receive", PATH, callback).annotateMerge(
      operation(
        "Take a provider's callback",
        "For providers; tenants never call it. It is answered as soon as it is stored.",
        asCallback
      )
    ),
    HttpApiEndpoint.put("receivePut", PATH, callback).annotateMerge(
      operation(
        "Take a provider's callback (PUT)",
        "For a provider that calls back by PUT; tenants never call it. It is answered as soon as it is stored.",
        asCallback
      )
    ),
    HttpApiEndpoint.post("receivePart", PART_PATH, callbackOfPart).annotateMerge(
      operation(
        "Take a provider's answer to one request",
        "For a provider that is given an address with each request; tenants never call it. It is answered as soon as it is stored.",
        asCallback
      )
    )
  )
  .annotateMerge(group("Provider callbacks", "Where providers report to the gateway. Tenants never call these.")) {}
