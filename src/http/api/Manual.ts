import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"

const page = { success: Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/html" })) }

/** The manual: pages and files to read, which are no operations of the API and are not described as such. */
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
    HttpApiEndpoint.get("home", "/", page)
  )
  .annotate(OpenApi.Exclude, true) {}
