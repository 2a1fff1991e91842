import { Effect } from "effect"
import { json } from "../../domain/Json.ts"
import { Health } from "../../services/Health.ts"
import { CurrentRequest, withCaller } from "../api/SignedRequest.ts"
import { docsPage, docsScript, docsStyle, readDocsAssets } from "../description/DocsPage.ts"
import { interfaceDescription } from "../description/OpenApiDescription.ts"
import { type StaticText, sameOrigin, sourceHash, staticResponse, staticText } from "../description/StaticText.ts"
import { handlersOf } from "../edge/Endpoints.ts"
import { respond } from "../edge/Response.ts"

/** Liveness, and the release and providers of the gateway. */
export const healthHandlers = Effect.gen(function* () {
  const health = yield* Health
  return handlersOf("health", {
    live: () => health.live.pipe(respond(200)),
    detail: () => withCaller(health.detail).pipe(respond(200))
  })
})

/** The page may load its own resources and the gateway's, and call its own origin; nothing else. */
const docsHeaders = {
  "content-security-policy": [
    "default-src 'none'",
    `script-src 'self' ${sourceHash(docsScript)}`,
    `style-src 'self' ${sourceHash(docsStyle)}`,
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'"
  ].join("; "),
  "referrer-policy": "no-referrer",
  ...sameOrigin
}

/** Shared by all gateways of a process. Building it is half the work of starting a gateway. */
let texts: { readonly description: StaticText; readonly page: StaticText } | undefined

/** The API's description, as OpenAPI and as a page. */
export const descriptionHandlers = Effect.sync(() => {
  const { description, page } = (texts ??= {
    description: staticText(json(interfaceDescription()), "application/json"),
    page: staticText(docsPage, "text/html; charset=utf-8")
  })
  return handlersOf("description", {
    openapi: () => Effect.map(CurrentRequest, ({ rawHeaders }) => staticResponse(description, rawHeaders, sameOrigin)),
    docs: () => Effect.map(CurrentRequest, ({ rawHeaders }) => staticResponse(page, rawHeaders, docsHeaders))
  })
})

export const docsAssetsHandlers = Effect.gen(function* () {
  const { script, style } = yield* readDocsAssets
  const serve = (asset: Effect.Effect<StaticText>) =>
    Effect.gen(function* () {
      const { rawHeaders } = yield* CurrentRequest
      return staticResponse(yield* asset, rawHeaders, sameOrigin)
    })
  return handlersOf("docsAssets", {
    script: () => serve(script),
    style: () => serve(style)
  })
})
