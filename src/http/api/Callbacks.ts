import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Enveloped } from "./Wire.ts"

const PATH = "/webhooks/:provider/:route_key"

const callback = {
  params: { provider: Schema.String, route_key: Schema.String },
  success: Enveloped(Schema.Struct({ status: Schema.Literal("stored") }))
}

/** Where providers call back, some by PUT; tenants never do. The body is any bytes, and is verified over exactly these. */
export class CallbacksApi extends HttpApiGroup.make("callbacks").add(
  HttpApiEndpoint.post("receive", PATH, callback),
  HttpApiEndpoint.put("receivePut", PATH, callback)
) {}
