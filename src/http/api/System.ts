import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { described } from "../../domain/Description.ts"
import { group, NEEDS_NOTHING, operation } from "./Operation.ts"
import { SignedRequest } from "./SignedRequest.ts"
import { Enveloped } from "./Wire.ts"

const status = described(Schema.Literal("ok"), "Always `ok`")
const release = described(Schema.String, "The release by hand, such as 1.0.0")

/** `GET /health` (contract HEALTH-1). */
const Liveness = Schema.Struct({ status, release }).annotate({
  identifier: "Health",
  description: "The gateway answers"
})

const Registration = Schema.Literals(["registered", "not_registered"]).annotate({
  identifier: "ProviderRegistration",
  description: "Whether the gateway has an account at the provider"
})

const HealthDetail = Schema.Struct({
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

export class HealthApi extends HttpApiGroup.make("health")
  .add(
    HttpApiEndpoint.get("live", "/health", { success: Enveloped(Liveness) }).annotateMerge(
      operation("Check that the gateway answers", "Needs no signature.")
    ),
    HttpApiEndpoint.get("detail", "/health/detail", { success: Enveloped(HealthDetail) })
      .annotateMerge(
        operation(
          "Get release and providers",
          `The gateway's release, and the providers at which it has an account. ${NEEDS_NOTHING}`
        )
      )
      .middleware(SignedRequest)
  )
  .annotateMerge(group("Health", "Whether the gateway answers, and what it is.")) {}

/** The API's description. These two responses have no envelope: tools and browsers read them. */
export class DescriptionApi extends HttpApiGroup.make("description")
  .add(
    HttpApiEndpoint.get("openapi", "/openapi.json", { success: Schema.Record(Schema.String, Schema.Unknown) }).annotateMerge(
      operation("Get this description", "The API in OpenAPI 3.1, for tools and generators. Needs no signature.")
    ),
    HttpApiEndpoint.get("docs", "/docs", {
      success: Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/html" }))
    }).annotateMerge(operation("Get this description as a page", "The API for people. Needs no signature."))
  )
  .annotateMerge(group("This description", "This description.")) {}

/** The paths of the scripts and styles of the page `/docs`. */
export const docsAssets = { script: "/docs/assets/reference.js", style: "/docs/assets/reference.css" } as const

/** The scripts and styles of a page. They are not operations of the API and are not described. */
export class DocsAssetsApi extends HttpApiGroup.make("docsAssets")
  .add(
    HttpApiEndpoint.get("script", docsAssets.script, { success: Schema.String }),
    HttpApiEndpoint.get("style", docsAssets.style, { success: Schema.String })
  )
  .annotate(OpenApi.Exclude, true) {}

const page = { success: Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/html" })) }

/** The manual: pages and files. They are not operations of the API and are not described. */
export class ManualApi extends HttpApiGroup.make("manual")
  .add(
    HttpApiEndpoint.get("integrating", "/docs/integrating", page),
    HttpApiEndpoint.get("integratingMarkdown", "/docs/integrating.md", page),
    HttpApiEndpoint.get("integratingPage", "/docs/integrating/:page", { ...page, params: { page: Schema.String } }),
    HttpApiEndpoint.get("contract", "/docs/contract", page),
    HttpApiEndpoint.get("contractMarkdown", "/docs/contract.md", page),
    HttpApiEndpoint.get("contractPage", "/docs/contract/:page", { ...page, params: { page: Schema.String } }),
    HttpApiEndpoint.get("clients", "/docs/clients.tar", page),
    HttpApiEndpoint.get("client", "/docs/clients/:client", { ...page, params: { client: Schema.String } }),
    HttpApiEndpoint.get("clientFile", "/docs/clients/:client/:file", {
      ...page,
      params: { client: Schema.String, file: Schema.String }
    }),
    HttpApiEndpoint.get("clientSource", "/docs/clients/:client/:folder/:file", {
      ...page,
      params: { client: Schema.String, folder: Schema.String, file: Schema.String }
    }),
    HttpApiEndpoint.get("search", "/docs/search", { ...page, query: { q: Schema.optionalKey(Schema.String) } }),
    HttpApiEndpoint.get("home", "/", page)
  )
  .annotate(OpenApi.Exclude, true) {}
