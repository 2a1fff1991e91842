import { createHash } from "node:crypto"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { json } from "../../domain/Json.ts"
import { Api } from "../Api.ts"
import { docsPage, docsScript, docsStyle } from "../DocsPage.ts"
import { lastingAnswer, lastingText } from "../LastingText.ts"
import { describeInterface } from "../OpenApiDescription.ts"
import { CurrentRequest } from "../SignedRequest.ts"

const hashOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`

/** The page may run its own script, wear its own style and ask its own origin; nothing else. */
const ownHeaders = {
  "content-security-policy": `default-src 'none'; script-src ${hashOf(docsScript)}; style-src ${hashOf(docsStyle)}; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin"
}

export const DescriptionHandlers = HttpApiBuilder.group(Api, "description", (handlers) => {
  const description = lastingText(json(describeInterface()), "application/json")
  const page = lastingText(docsPage, "text/html; charset=utf-8")
  return handlers
    .handleRaw("openapi", () =>
      Effect.map(CurrentRequest, ({ rawHeaders }) => lastingAnswer(description, rawHeaders, sameOrigin))
    )
    .handleRaw("docs", () => Effect.map(CurrentRequest, ({ rawHeaders }) => lastingAnswer(page, rawHeaders, ownHeaders)))
})

const sameOrigin = { "cross-origin-resource-policy": "same-origin" }
