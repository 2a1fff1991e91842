import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { StoredAnswer } from "../services/ports/Idempotency.ts"
import { type Refusal, refusal, success } from "./Envelope.ts"

/** An answer's exact bytes as a response. */
export const sent = (
  answer: StoredAnswer,
  headers: Readonly<Record<string, string>> = {}
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(answer.body, { status: answer.status, contentType: "application/json", headers })

export const refused = (error: Refusal): HttpServerResponse.HttpServerResponse => {
  const seconds = retryAfterSeconds(error)
  return sent(refusal(error), seconds === undefined ? {} : { "retry-after": String(seconds) })
}

/** Another request has the key: it ends within a provider call or two, and most end at once. */
const IN_PROGRESS_RETRY_AFTER_SECONDS = 1

const retryAfterSeconds = (error: Refusal): number | undefined => {
  if (error._tag === "rate_limited") return error.retry_after_seconds
  return error._tag === "request_in_progress" ? IN_PROGRESS_RETRY_AFTER_SECONDS : undefined
}

/** Turns what an operation answers or refuses into a response. */
export const answered =
  (status: number) =>
  <E extends Refusal, R>(view: Effect.Effect<unknown, E, R>): Effect.Effect<HttpServerResponse.HttpServerResponse, never, R> =>
    Effect.match(view, { onSuccess: (data) => sent(success(status, data)), onFailure: refused })
