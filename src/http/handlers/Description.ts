import { createHash } from "node:crypto"
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { json } from "../../domain/Json.ts"
import { Api } from "../Api.ts"
import { describeInterface } from "../Description.ts"
import { docsPage, docsScript, docsStyle } from "../DocsPage.ts"

const hashOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`

/** The page may run its own script, wear its own style and ask its own origin; nothing else. */
const headers = {
  "content-security-policy": `default-src 'none'; script-src ${hashOf(docsScript)}; style-src ${hashOf(docsStyle)}; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin"
}

export const DescriptionHandlers = HttpApiBuilder.group(Api, "description", (handlers) => {
  const description = json(describeInterface())
  return handlers
    .handleRaw("openapi", () =>
      Effect.succeed(HttpServerResponse.text(description, { contentType: "application/json", headers: sameOrigin }))
    )
    .handleRaw("docs", () =>
      Effect.succeed(HttpServerResponse.text(docsPage, { contentType: "text/html; charset=utf-8", headers }))
    )
})

const sameOrigin = { "x-content-type-options": "nosniff", "cross-origin-resource-policy": "same-origin" }
