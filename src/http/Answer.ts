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

export const refused = (error: Refusal): HttpServerResponse.HttpServerResponse =>
  sent(refusal(error), error._tag === "rate_limited" ? { "retry-after": String(error.retry_after_seconds) } : {})

/** Turns what an operation answers or refuses into a response. */
export const answered =
  (status: number) =>
  <E extends Refusal, R>(view: Effect.Effect<unknown, E, R>): Effect.Effect<HttpServerResponse.HttpServerResponse, never, R> =>
    Effect.match(view, { onSuccess: (data) => sent(success(status, data)), onFailure: refused })
