import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { StoredResponse } from "../services/ports/Idempotency.ts"
import type { ApiError } from "../services/ports/ResponseEncoder.ts"
import { errorEnvelope, successEnvelope } from "./Envelope.ts"

/** An answer's exact bytes as a response. */
export const httpResponse = (
  answer: StoredResponse,
  headers: Readonly<Record<string, string>> = {}
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(answer.body, { status: answer.status, contentType: "application/json", headers })

export const errorResponse = (error: ApiError): HttpServerResponse.HttpServerResponse => {
  const seconds = retryAfterSeconds(error)
  return httpResponse(errorEnvelope(error), seconds === undefined ? {} : { "retry-after": String(seconds) })
}

/** Another request has the key: it ends within a provider call or two, and most end at once. */
const IN_PROGRESS_RETRY_AFTER_SECONDS = 1

const retryAfterSeconds = (error: ApiError): number | undefined => {
  if (error._tag === "rate_limited") return error.retry_after_seconds
  return error._tag === "request_in_progress" ? IN_PROGRESS_RETRY_AFTER_SECONDS : undefined
}

/** Turns what an operation answers or refuses into a response. */
export const respond =
  (status: number) =>
  <E extends ApiError, R>(view: Effect.Effect<unknown, E, R>): Effect.Effect<HttpServerResponse.HttpServerResponse, never, R> =>
    Effect.match(view, { onSuccess: (data) => httpResponse(successEnvelope(status, data)), onFailure: errorResponse })
