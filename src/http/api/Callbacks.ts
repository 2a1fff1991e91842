import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Enveloped } from "./Wire.ts"

/** Where providers call back; tenants never do. The body is any bytes, and is verified over exactly these. */
export class CallbacksApi extends HttpApiGroup.make("callbacks").add(
  HttpApiEndpoint.post("receive", "/webhooks/:provider/:route_key", {
    params: { provider: Schema.String, route_key: Schema.String },
    success: Enveloped(Schema.Struct({ status: Schema.Literal("stored") }))
  })
) {}
