import { createHash } from "node:crypto"
import { gzipSync } from "node:zlib"
import { HttpServerResponse } from "effect/http"
import { valuesOf } from "../edge/RequestHeaders.ts"

/** A response header: no page of another origin may embed it. */
export const sameOrigin = { "cross-origin-resource-policy": "same-origin" }

/** An inline style or script as a content security policy allows it. */
export const sourceHash = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`

/** A text, or an archive of texts, that does not change while the process runs. It is hashed and compressed once. */
export interface StaticText {
  readonly contentType: string
  readonly plain: Uint8Array
  readonly gzip: Uint8Array
  readonly hash: string
}

export const staticText = (text: string | Uint8Array, contentType: string): StaticText => {
  const plain = typeof text === "string" ? Buffer.from(text) : text
  return { contentType, plain, gzip: gzipSync(plain), hash: createHash("sha256").update(plain).digest("base64url") }
}

/**
 * The text as a response: compressed when the request accepts gzip, and empty (304) when the client already has it. A client
 * may keep a copy, but must revalidate it each time.
 */
export const staticResponse = (
  { contentType, gzip, hash, plain }: StaticText,
  rawHeaders: ReadonlyArray<string>,
  own: Readonly<Record<string, string>>
): HttpServerResponse.HttpServerResponse => {
  const isZipped = acceptsGzip(valuesOf(rawHeaders, "accept-encoding"))
  // Compressed bytes differ, so they have another tag.
  const tags = { plain: `"${hash}"`, gzip: `"${hash}-gzip"` }
  const headers = { ...own, etag: isZipped ? tags.gzip : tags.plain, "cache-control": "no-cache", vary: "accept-encoding" }
  if (hasOne(valuesOf(rawHeaders, "if-none-match"), Object.values(tags)))
    return HttpServerResponse.empty({ status: 304, headers })
  return HttpServerResponse.uint8Array(isZipped ? gzip : plain, {
    contentType,
    headers: isZipped ? { ...headers, "content-encoding": "gzip" } : headers
  })
}

/** True when `gzip` is named with a weight above zero, or `*` is and `gzip` is not. */
const acceptsGzip = (values: ReadonlyArray<string>): boolean => {
  const codings = items(values).map((item) => {
    const [name = "", ...parameters] = item.toLowerCase().split(";")
    return { name: name.trim(), isAccepted: !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter.trim())) }
  })
  const named = codings.find(({ name }) => name === "gzip") ?? codings.find(({ name }) => name === "*")
  return named?.isAccepted ?? false
}

const hasOne = (values: ReadonlyArray<string>, tags: ReadonlyArray<string>): boolean =>
  items(values).some((item) => item === "*" || tags.includes(item.replace(/^W\//, "")))

const items = (values: ReadonlyArray<string>): ReadonlyArray<string> =>
  values.flatMap((value) => value.split(",")).map((item) => item.trim())
