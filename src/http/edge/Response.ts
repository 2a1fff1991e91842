import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { ApiError } from "../../domain/errors/ApiError.ts"
import { jsonBytes } from "../../domain/Json.ts"
import type { StoredResponse } from "../../services/ports/Idempotency.ts"
import { enveloped, errorEnvelope, successEnvelope } from "../api/Envelope.ts"

type Response = HttpServerResponse.HttpServerResponse

const contentType = "application/json"

/** Turns an operation's result into a response: a view with this status, or an error with the status of its code. */
export const respond =
  (status: number) =>
  <E extends ApiError, R>(view: Effect.Effect<unknown, E, R>): Effect.Effect<Response, never, R> =>
    Effect.match(view, { onSuccess: (data) => httpResponse(successEnvelope(status, data)), onFailure: errorResponse })

/** As `respond` with 200, for a list of views. */
export const respondEach =
  <A>(view: (item: A) => unknown) =>
  <E extends ApiError, R>(items: Effect.Effect<ReadonlyArray<A>, E, R>): Effect.Effect<Response, never, R> =>
    Effect.map(items, (all) => all.map(view)).pipe(respond(200))

/** As `respond`, for a view that may be large. */
export const respondAtLength =
  (status: number) =>
  <E extends ApiError, R>(view: Effect.Effect<unknown, E, R>): Effect.Effect<Response, never, R> =>
    Effect.match(view, { onSuccess: (data) => longResponse(status, data), onFailure: errorResponse })

/** A view that may be large, in its envelope. */
export const longResponse = (status: number, view: unknown): Response =>
  HttpServerResponse.uint8Array(jsonBytes(enveloped(status, view)), { status, contentType })

/** The exact bytes of an envelope as a response. */
export const httpResponse = (stored: StoredResponse, headers: Readonly<Record<string, string>> = {}): Response =>
  HttpServerResponse.text(stored.body, { status: stored.status, contentType, headers })

/** The response to an error, with `Retry-After` when the waiting time is known. */
export const errorResponse = (error: ApiError): Response => {
  const seconds = retryAfterSeconds(error)
  return httpResponse(errorEnvelope(error), seconds === undefined ? {} : { "retry-after": String(seconds) })
}

/** The headers of every response: no proxy stores a copy unless the response allows it, and no browser guesses the type. */
export const standardHeaders = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const

/** Adds the standard headers and the request's id. Headers that the response already has take precedence over the standard ones. */
export const withStandardHeaders = (response: Response, requestId: string): Response =>
  HttpServerResponse.setHeaders(response, { ...standardHeaders, ...response.headers, "x-request-id": requestId })

/** Names the ignored members of the body in `X-Gateway-Ignored`; a character that no header can carry is shown as `?`. */
export const withIgnoredHeader =
  (paths: Iterable<string>) =>
  (response: Response): Response => {
    const names = ignoredNames(paths)
    return names === "" ? response : HttpServerResponse.setHeader(response, "x-gateway-ignored", names)
  }

const LONGEST_HEADER = 1024

/** As many names as fit. The walk over the body ends there. */
const ignoredNames = (paths: Iterable<string>): string => {
  let names = ""
  for (const path of paths) {
    names += `${names === "" ? "" : ","}${path.replace(/[^A-Za-z0-9_.-]/g, "?")}`
    if (names.length > LONGEST_HEADER) return `${names.slice(0, LONGEST_HEADER - 4)},...`
  }
  return names
}

/** Another request holds the key. It ends within a provider call or two, most at once. */
const IN_PROGRESS_RETRY_AFTER_SECONDS = 1

const retryAfterSeconds = (error: ApiError): number | undefined => {
  if (error._tag === "rate_limited" || error._tag === "provider_error") return error.retry_after_seconds
  return error._tag === "request_in_progress" ? IN_PROGRESS_RETRY_AFTER_SECONDS : undefined
}
