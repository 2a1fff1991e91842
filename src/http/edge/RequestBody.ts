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

/** No body. Bytes that were sent as one are discarded as they arrive: Node would keep them until the response. */
export const drained = (request: HttpServerRequest.HttpServerRequest): Uint8Array => {
  messageOf(request).resume()
  return NO_BODY
}

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
      // One buffer and no list of pieces: a client may send byte by byte, and a piece of one byte takes hundreds.
      let bytes: Buffer = Buffer.alloc(0)
      let size = 0
      const end = (read: Effect.Effect<Uint8Array | null, PayloadTooLarge | MalformedRequest>) => {
        stop()
        message.off("data", take).off("end", ended).off("close", lost)
        resume(read)
      }
      const take = (chunk: Buffer) => {
        if (size + chunk.length > limit) {
          end(Effect.fail(new PayloadTooLarge({ maximum_bytes: limit })))
          // The rest is read and discarded.
          return void message.resume()
        }
        // Most bodies arrive whole.
        bytes = size === 0 ? chunk : withRoom(bytes, size + chunk.length, limit)
        bytes.set(chunk, size)
        size += chunk.length
      }
      const ended = () => end(Effect.succeed(bytes.subarray(0, size)))
      const lost = () => end(Effect.fail(malformed("The body did not arrive.")))
      const stop = timer(BODY_MS, () => end(Effect.succeed(null)))
      if (message.destroyed) return lost()
      // A close follows every error.
      message.on("data", take).on("end", ended).on("close", lost).on("error", nothing)
    })
  }

/** The bytes with room for `needed` in all. It grows by doubling, so that a byte is copied a few times only. */
export const withRoom = (bytes: Buffer, needed: number, limit: number): Buffer => {
  if (needed <= bytes.length) return bytes
  const larger = Buffer.allocUnsafe(Math.min(limit, 2 * needed))
  bytes.copy(larger)
  return larger
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
