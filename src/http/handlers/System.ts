import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { json } from "../../domain/Json.ts"
import { Health } from "../../services/Health.ts"
import { Api } from "../Api.ts"
import { docsPage, docsScript, docsStyle } from "../DocsPage.ts"
import { describeInterface } from "../OpenApiDescription.ts"
import { respond } from "../Response.ts"
import { CurrentRequest, withCaller } from "../SignedRequest.ts"
import { sameOrigin, sourceHash, staticResponse, staticText } from "../StaticText.ts"

/** Whether the gateway answers, and which release and providers it has. */
export const HealthHandlers = HttpApiBuilder.group(
  Api,
  "health",
  Effect.fnUntraced(function* (handlers) {
    const health = yield* Health
    return handlers
      .handleRaw("live", () => health.live.pipe(respond(200)))
      .handleRaw("detail", () => withCaller(health.detail).pipe(respond(200)))
  })
)

/** The page may run its own script, use its own style and call its own origin; nothing else. */
const docsHeaders = {
  "content-security-policy": `default-src 'none'; script-src ${sourceHash(docsScript)}; style-src ${sourceHash(docsStyle)}; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin"
}

/** The API's description, as OpenAPI and as a page. */
export const DescriptionHandlers = HttpApiBuilder.group(Api, "description", (handlers) => {
  const description = staticText(json(describeInterface()), "application/json")
  const page = staticText(docsPage, "text/html; charset=utf-8")
  return handlers
    .handleRaw("openapi", () =>
      Effect.map(CurrentRequest, ({ rawHeaders }) => staticResponse(description, rawHeaders, sameOrigin))
    )
    .handleRaw("docs", () => Effect.map(CurrentRequest, ({ rawHeaders }) => staticResponse(page, rawHeaders, docsHeaders)))
})
