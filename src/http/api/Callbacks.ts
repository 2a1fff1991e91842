import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Enveloped } from "./Wire.ts"

const PATH = "/webhooks/:provider/:route_key"

const callback = {
  params: { provider: Schema.String, route_key: Schema.String },
  success: Enveloped(Schema.Struct({ status: Schema.Literal("stored") }))
}

/**
 * Where providers call back; tenants never do. `route_key` is secret and names one account of the provider. The body may be any bytes:
 * the provider's signature is verified over exactly the bytes that arrived. A callback that is verified is stored and answered 200
 * before anybody looks at what it says.
 *
 * The edge refuses an unknown provider or key before it reads the body (404), and the handler a signature that does not hold (401).
 */
export class CallbacksApi extends HttpApiGroup.make("callbacks").add(
  HttpApiEndpoint.post("receive", PATH, callback),
  HttpApiEndpoint.put("receivePut", PATH, callback)
) {}
