import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"

/** The interface's own description. These two answers are not enveloped: tools and browsers read them. */
export class DescriptionApi extends HttpApiGroup.make("description").add(
  HttpApiEndpoint.get("openapi", "/openapi.json", { success: Schema.Record(Schema.String, Schema.Unknown) }),
  HttpApiEndpoint.get("docs", "/docs", { success: Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/html" })) })
) {}
