import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { described } from "../../domain/Description.ts"
import { SignedRequest } from "./SignedRequest.ts"
import { Enveloped } from "./Wire.ts"

const status = described(Schema.Literal("ok"), "Always `ok`")
const release = described(Schema.String, "The release by hand, such as 1.0.0")

/** `GET /health` (contract HEALTH-1). */
export const Liveness = Schema.Struct({ status, release }).annotate({
  identifier: "Health",
  description: "The gateway answers"
})

const Registration = Schema.Literals(["registered", "not_registered"]).annotate({
  identifier: "ProviderRegistration",
  description: "Whether the gateway has an account at the provider"
})

export const HealthDetail = Schema.Struct({
  status,
  uptime_seconds: described(Schema.Int, "How long this process has run, in seconds"),
  version: described(Schema.String, "The build: the release and a hash of the source"),
  release,
  is_test_environment: described(Schema.Boolean, "True where the key of this request is a test key"),
  provider_environment: described(Schema.Literal("production"), "Always `production`: test mode uses real accounts, too"),
  providers: described(
    Schema.Record(Schema.String, Registration),
    "Every provider by its name. It says whether the gateway has an account there, not whether it can be reached"
  )
}).annotate({ identifier: "HealthDetail", description: "The gateway's release and its providers" })

export class HealthApi extends HttpApiGroup.make("health").add(
  HttpApiEndpoint.get("live", "/health", { success: Enveloped(Liveness) }),
  HttpApiEndpoint.get("detail", "/health/detail", { success: Enveloped(HealthDetail) }).middleware(SignedRequest)
) {}

/** The API's description. These two responses have no envelope: tools and browsers read them. */
export class DescriptionApi extends HttpApiGroup.make("description").add(
  HttpApiEndpoint.get("openapi", "/openapi.json", { success: Schema.Record(Schema.String, Schema.Unknown) }),
  HttpApiEndpoint.get("docs", "/docs", { success: Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/html" })) })
) {}

/** What draws the page: no operations of the API, and not described as such. */
/** Where the scripts and styles of the page `/docs` are. */
export const docsAssets = { script: "/docs/assets/reference.js", style: "/docs/assets/reference.css" } as const

export class DocsAssetsApi extends HttpApiGroup.make("docsAssets")
  .add(
    HttpApiEndpoint.get("script", docsAssets.script, { success: Schema.String }),
    HttpApiEndpoint.get("style", docsAssets.style, { success: Schema.String })
  )
  .annotate(OpenApi.Exclude, true) {}
