import { createHash } from "node:crypto"
import { gzipSync } from "node:zlib"
import { HttpServerResponse } from "effect/http"
import { valuesOf } from "./RequestHeaders.ts"

/** A text that stays the same while the process lives: it is tagged and compressed once. */
export interface LastingText {
  readonly contentType: string
  readonly plain: Uint8Array
  readonly gzip: Uint8Array
  readonly hash: string
}

export const lastingText = (text: string, contentType: string): LastingText => {
  const plain = Buffer.from(text)
  return { contentType, plain, gzip: gzipSync(plain), hash: createHash("sha256").update(plain).digest("base64url") }
}

/**
 * The text as this request takes it: compressed where it accepts gzip, and nothing at all (304) where it has it already. A copy may be
 * kept, but is asked about each time.
 */
export const lastingAnswer = (
  { contentType, gzip, hash, plain }: LastingText,
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
