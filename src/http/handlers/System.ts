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

const hashOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`

/** The page may run its own script, use its own style and call its own origin; nothing else. */
const docsHeaders = {
  "content-security-policy": `default-src 'none'; script-src ${hashOf(docsScript)}; style-src ${hashOf(docsStyle)}; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
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

const sameOrigin = { "cross-origin-resource-policy": "same-origin" }

/** A text that stays the same while the process lives. It is hashed and compressed once. */
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
 * The text as a response: compressed where the request accepts gzip, and empty (304) where the client has it already. A client may keep
 * a copy, and asks each time whether it is still good.
 */
const staticResponse = (
  { contentType, gzip, hash, plain }: StaticText,
  rawHeaders: ReadonlyArray<string>,
  own: Readonly<Record<string, string>>
): HttpServerResponse.HttpServerResponse => {
  const isZipped = acceptsGzip(valuesOf(rawHeaders, "accept-encoding"))
  // Other bytes, and so another tag.
  const tags = { plain: `"${hash}"`, gzip: `"${hash}-gzip"` }
  const headers = { ...own, etag: isZipped ? tags.gzip : tags.plain, "cache-control": "no-cache", vary: "accept-encoding" }
  if (hasOne(valuesOf(rawHeaders, "if-none-match"), Object.values(tags)))
    return HttpServerResponse.empty({ status: 304, headers })
  return HttpServerResponse.uint8Array(isZipped ? gzip : plain, {
    contentType,
    headers: isZipped ? { ...headers, "content-encoding": "gzip" } : headers
  })
}

/** `gzip` is named with a weight above zero, or `*` is where `gzip` is not named. */
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
