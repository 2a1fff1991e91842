import { ByteSize, Effect } from "effect"
import { HttpIncomingMessage, type HttpServerError, type HttpServerRequest } from "effect/http"
import { CrossOriginDenied, PayloadTooLarge, UnsupportedMediaType } from "../../domain/errors/Terminal.ts"
import { valuesOf } from "./RequestHeaders.ts"

const KIBIBYTE = 1024
export const REQUEST_BYTES = 64 * KIBIBYTE
export const CALLBACK_BYTES = 256 * KIBIBYTE

export const NO_BODY = new Uint8Array()
// A body that comes with one of these methods is read by the server and ignored (contract SIG-8).
const bodyless = new Set(["GET", "HEAD", "DELETE"])

/** Whether a request of this method has the body `NO_BODY`, whatever comes with it. */
export const isBodyless = (method: string): boolean => bodyless.has(method)

/** Reads the raw body, at most `limit` bytes. A larger one is refused by its declared length, or at the first byte too many. */
export const rawBody = (
  request: HttpServerRequest.HttpServerRequest,
  limit: number
): Effect.Effect<Uint8Array, PayloadTooLarge | HttpServerError.HttpServerError> => {
  const tooLarge = Effect.suspend(() => Effect.fail(new PayloadTooLarge({ maximum_bytes: limit })))
  if (Number(request.headers["content-length"] ?? 0) > limit) return tooLarge
  return request.arrayBuffer.pipe(
    Effect.map((buffer) => new Uint8Array(buffer)),
    Effect.catchIf(isTooLarge, () => tooLarge),
    Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(limit))
  )
}

const isTooLarge = (error: HttpServerError.HttpServerError): boolean =>
  error.reason._tag === "RequestParseError" && error.reason.reason === "BodyTooLarge"

const JSON_TYPE = /^application\/json(?:[ \t]*;[ \t]*charset=(?:utf-8|"utf-8"))?[ \t]*$/i

/** Refuses a body that is not uncompressed JSON by its headers. A body without a content type is read as JSON. */
export const mediaType = (method: string, rawHeaders: ReadonlyArray<string>): UnsupportedMediaType | undefined => {
  if (isBodyless(method)) return undefined
  const isJson = valuesOf(rawHeaders, "content-type").every((type) => JSON_TYPE.test(type))
  const isPlain = valuesOf(rawHeaders, "content-encoding").every((encoding) => encoding.toLowerCase() === "identity")
  return isJson && isPlain ? undefined : new UnsupportedMediaType()
}

/** Refuses a browser on another origin: an `Origin` must be the request's own host. */
export const origin = (rawHeaders: ReadonlyArray<string>): CrossOriginDenied | undefined => {
  const origins = valuesOf(rawHeaders, "origin")
  if (origins.length === 0) return undefined
  const [host] = valuesOf(rawHeaders, "host")
  const own = host !== undefined && origins.every((sent) => isOwn(sent, host))
  return own ? undefined : new CrossOriginDenied()
}

const isOwn = (sent: string, host: string): boolean => {
  const scheme = /^https?:\/\//.exec(sent)?.[0]
  if (scheme === undefined) return false
  const [theirs, ours] = [URL.parse(sent), URL.parse(`${scheme}${host}`)]
  return theirs !== null && ours !== null && theirs.origin === ours.origin
}
