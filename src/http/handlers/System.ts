import { createHash } from "node:crypto"
import { gzipSync } from "node:zlib"
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { json } from "../../domain/Json.ts"
import { Health } from "../../services/Health.ts"
import { Api } from "../Api.ts"
import { docsPage, docsScript, docsStyle } from "../DocsPage.ts"
import { describeInterface } from "../OpenApiDescription.ts"
import { valuesOf } from "../RequestHeaders.ts"
import { respond } from "../Response.ts"
import { CurrentRequest, withCaller } from "../SignedRequest.ts"

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

const hashOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`

/** The page may run its own script, wear its own style and ask its own origin; nothing else. */
const docsHeaders = {
  "content-security-policy": `default-src 'none'; script-src ${hashOf(docsScript)}; style-src ${hashOf(docsStyle)}; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin"
}

export const DescriptionHandlers = HttpApiBuilder.group(Api, "description", (handlers) => {
  const description = staticText(json(describeInterface()), "application/json")
  const page = staticText(docsPage, "text/html; charset=utf-8")
  return handlers
    .handleRaw("openapi", () =>
      Effect.map(CurrentRequest, ({ rawHeaders }) => staticResponse(description, rawHeaders, sameOrigin))
    )
    .handleRaw("docs", () => Effect.map(CurrentRequest, ({ rawHeaders }) => staticResponse(page, rawHeaders, docsHeaders)))
})

const sameOrigin = { "cross-origin-resource-policy": "same-origin" }

/** A text that stays the same while the process lives: it is tagged and compressed once. */
interface StaticText {
  readonly contentType: string
  readonly plain: Uint8Array
  readonly gzip: Uint8Array
  readonly hash: string
}

const staticText = (text: string, contentType: string): StaticText => {
  const plain = Buffer.from(text)
  return { contentType, plain, gzip: gzipSync(plain), hash: createHash("sha256").update(plain).digest("base64url") }
}

/**
 * The text as this request takes it: compressed where it accepts gzip, and nothing at all (304) where it has it already. A copy may be
 * kept, but is asked about each time.
 */
const staticResponse = (
  { contentType, gzip, hash, plain }: StaticText,
  rawHeaders: ReadonlyArray<string>,
  own: Readonly<Record<string, string>>
): HttpServerResponse.HttpServerResponse => {
  const isZipped = acceptsGzip(valuesOf(rawHeaders, "accept-encoding"))
  // The compressed bytes are others, and so is their tag.
  const tags = { plain: `"${hash}"`, gzip: `"${hash}-gzip"` }
  const headers = { ...own, etag: isZipped ? tags.gzip : tags.plain, "cache-control": "no-cache", vary: "accept-encoding" }
  if (hasOne(valuesOf(rawHeaders, "if-none-match"), Object.values(tags)))
    return HttpServerResponse.empty({ status: 304, headers })
  return HttpServerResponse.uint8Array(isZipped ? gzip : plain, {
    contentType,
    headers: isZipped ? { ...headers, "content-encoding": "gzip" } : headers
  })
}

/** Named with a weight above zero; where it is not named, `*` speaks for it. */
const acceptsGzip = (values: ReadonlyArray<string>): boolean => {
  const codings = items(values).map((item) => {
    const [name = "", ...parameters] = item.toLowerCase().split(";")
    return { name: name.trim(), isTaken: !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter.trim())) }
  })
  const named = codings.find(({ name }) => name === "gzip") ?? codings.find(({ name }) => name === "*")
  return named?.isTaken ?? false
}

const hasOne = (values: ReadonlyArray<string>, tags: ReadonlyArray<string>): boolean =>
  items(values).some((item) => item === "*" || tags.includes(item.replace(/^W\//, "")))

const items = (values: ReadonlyArray<string>): ReadonlyArray<string> =>
  values.flatMap((value) => value.split(",")).map((item) => item.trim())
