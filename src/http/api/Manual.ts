import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"

const page = { success: Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/html" })) }

/** The manual: pages and files to read, which are no operations of the API and are not described as such. */
export class ManualApi extends HttpApiGroup.make("manual")
  .add(
    HttpApiEndpoint.get("integrating", "/docs/integrating", page),
    HttpApiEndpoint.get("integratingPage", "/docs/integrating/:page", { ...page, params: { page: Schema.String } }),
    HttpApiEndpoint.get("contract", "/docs/contract", page),
    HttpApiEndpoint.get("contractPage", "/docs/contract/:page", { ...page, params: { page: Schema.String } }),
    HttpApiEndpoint.get("signing", "/docs/clients/signing/:file", { ...page, params: { file: Schema.String } })
  )
  .annotate(OpenApi.Exclude, true) {}
