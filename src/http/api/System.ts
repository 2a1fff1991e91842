import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { SignedRequest } from "../SignedRequest.ts"
import { Enveloped } from "./Wire.ts"

/** `GET /health` (contract HEALTH-1). */
export const Liveness = Schema.Struct({ status: Schema.Literal("ok"), release: Schema.String })

export const HealthDetail = Schema.Struct({
  status: Schema.Literal("ok"),
  uptime_seconds: Schema.Number,
  version: Schema.String,
  release: Schema.String,
  is_test_environment: Schema.Boolean,
  provider_environment: Schema.Literal("production"),
  providers: Schema.Record(Schema.String, Schema.Literals(["registered", "not_registered"]))
})

export class HealthApi extends HttpApiGroup.make("health").add(
  HttpApiEndpoint.get("live", "/health", { success: Enveloped(Liveness) }),
  HttpApiEndpoint.get("detail", "/health/detail", { success: Enveloped(HealthDetail) }).middleware(SignedRequest)
) {}

/** The API's description. These two responses have no envelope: tools and browsers read them. */
export class DescriptionApi extends HttpApiGroup.make("description").add(
  HttpApiEndpoint.get("openapi", "/openapi.json", { success: Schema.Record(Schema.String, Schema.Unknown) }),
  HttpApiEndpoint.get("docs", "/docs", { success: Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/html" })) })
) {}
