import { Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { MalformedRequest, PayloadTooLarge, UnsupportedMediaType } from "../../domain/errors/Terminal.ts"
import type { Timer } from "../../runtime/Timer.ts"
import { BODY_MS } from "./Deadlines.ts"
import { messageOf } from "./NodeListener.ts"
import { valuesOf } from "./RequestHeaders.ts"
import { errorResponse } from "./Response.ts"

const KIBIBYTE = 1024
export const REQUEST_BYTES = 64 * KIBIBYTE
export const CALLBACK_BYTES = 256 * KIBIBYTE

export const NO_BODY = new Uint8Array()
// The server reads and ignores a body that is sent with one of these methods (contract SIG-8).
const bodyless = new Set(["GET", "HEAD", "DELETE"])

/** Whether a request with this method counts as having no body (`NO_BODY`), whatever was sent. */
export const isBodyless = (method: string): boolean => bodyless.has(method)

/**
 * Reads the raw body, at most `limit` bytes. A larger one is refused by its declared length, or at the first byte beyond the
 * limit. Null when it times out: the connection stays open for the error response.
 */
export const bodyReader =
  (timer: Timer) =>
  (
    request: HttpServerRequest.HttpServerRequest,
    limit: number
  ): Effect.Effect<Uint8Array | null, PayloadTooLarge | MalformedRequest> => {
    const message = messageOf(request)
    if (Number(message.headers["content-length"] ?? 0) > limit) return Effect.fail(new PayloadTooLarge({ maximum_bytes: limit }))
    return Effect.callback((resume) => {
      const chunks: Array<Buffer> = []
      let size = 0
      const end = (read: Effect.Effect<Uint8Array | null, PayloadTooLarge | MalformedRequest>) => {
        stop()
        message.off("data", take).off("end", ended).off("close", lost)
        resume(read)
      }
      const take = (chunk: Buffer) => {
        size += chunk.length
        if (size <= limit) return void chunks.push(chunk)
        end(Effect.fail(new PayloadTooLarge({ maximum_bytes: limit })))
        // The rest is read and discarded.
        message.resume()
      }
      const ended = () => end(Effect.succeed(chunks.length === 1 ? (chunks[0] ?? NO_BODY) : Buffer.concat(chunks, size)))
      const lost = () => end(Effect.fail(malformed("The body did not arrive.")))
      const stop = timer(BODY_MS, () => end(Effect.succeed(null)))
      if (message.destroyed) return lost()
      // A close follows every error.
      message.on("data", take).on("end", ended).on("close", lost).on("error", nothing)
    })
  }

const nothing = (): void => {}

const malformed = (message: string): MalformedRequest => new MalformedRequest({ issues: [{ path: "", message }] })

export const lateBody: HttpServerResponse.HttpServerResponse = HttpServerResponse.setHeader(
  errorResponse(malformed(`The body did not arrive within ${BODY_MS / 1000} seconds.`)),
  "connection",
  "close"
)

/** Some clients end the list of parameters with a semicolon or send it empty. */
const JSON_TYPE = /^application\/json(?:[ \t]*;[ \t]*charset=(?:utf-8|"utf-8"))?(?:[ \t]*;)?[ \t]*$/i

/** Refuses, by its headers, a body that is not uncompressed JSON. A body without a content type is read as JSON. */
export const mediaType = (method: string, rawHeaders: ReadonlyArray<string>): UnsupportedMediaType | undefined => {
  if (isBodyless(method)) return undefined
  const isJson = valuesOf(rawHeaders, "content-type").every((type) => JSON_TYPE.test(type))
  const isPlain = valuesOf(rawHeaders, "content-encoding").every((encoding) => encoding.toLowerCase() === "identity")
  return isJson && isPlain ? undefined : new UnsupportedMediaType()
}
