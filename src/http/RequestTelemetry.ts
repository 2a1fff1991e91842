import { Clock, Effect, Metric, Option, Schema } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import { pathOf } from "../domain/SignedText.ts"
import { labelled } from "../runtime/Labelled.ts"
import { matchRoute } from "./HttpRoutes.ts"
import { asReceived } from "./NodeListener.ts"

// Labels are templates, codes and classes: nothing that a caller can make more of.

const requests = labelled((attributes: { readonly route: string; readonly status: string }) =>
  Metric.counter("gateway_http_requests_total", { description: "Requests, by route and status.", incremental: true, attributes })
)
const errors = labelled((attributes: { readonly code: string; readonly class: string }) =>
  Metric.counter("gateway_http_errors_total", {
    description: "Refused requests, by the error's code and class.",
    incremental: true,
    attributes
  })
)
const durations = labelled((attributes: { readonly route: string }) =>
  Metric.histogram("gateway_http_request_duration_seconds", {
    description: "How long requests took, by route.",
    boundaries: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60],
    attributes
  })
)

const MS_PER_SECOND = 1000

/** A counter that is not there yet grows from nothing, which no alert sees: those that alerts watch begin at zero. */
export const watched = Effect.forEach(
  [
    { code: "internal_error", class: "ambiguous" },
    { code: "unauthorized", class: "retriable" }
  ],
  (error) => errors(error, 0),
  { discard: true }
)

/** Counts what an answering effect answers, an error by what its envelope says. */
export const measured = <E, R>(
  answering: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R | HttpServerRequest.HttpServerRequest> =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const startedAt = yield* Clock.currentTimeMillis
    const response = yield* answering
    const seconds = ((yield* Clock.currentTimeMillis) - startedAt) / MS_PER_SECOND
    const match = matchRoute(request.method, pathOf(asReceived(request).rawTarget))
    const route = match._tag === "Found" ? `${match.route.method} ${match.route.template}` : "unknown"
    yield* requests({ route, status: String(response.status) }, 1)
    yield* durations({ route }, seconds)
    const refused = errorOf(response)
    if (Option.isSome(refused)) yield* errors(refused.value, 1)
    return response
  })

/** What a span says of a refusal. */
export const errorAttributes = (response: HttpServerResponse.HttpServerResponse): Readonly<Record<string, string>> =>
  Option.match(errorOf(response), {
    onNone: () => ({}),
    onSome: ({ class: errorClass, code }) => ({ "error.type": code, "gateway.error_class": errorClass })
  })

const decodeError = Schema.decodeUnknownOption(
  Schema.fromJsonString(
    Schema.Struct({ error: Schema.Struct({ code: Schema.String, terminal: Schema.Boolean, retriable: Schema.Boolean }) })
  )
)

const FIRST_ERROR = 400

/** The bytes are asked and not the refusal, because an answer that is repeated is bytes only. */
const errorOf = ({ body, status }: HttpServerResponse.HttpServerResponse) =>
  status < FIRST_ERROR || body._tag !== "Uint8Array"
    ? Option.none()
    : Option.map(decodeError(Buffer.from(body.body).toString("utf8")), ({ error }) => ({
        code: error.code,
        class: error.terminal ? "terminal" : error.retriable ? "retriable" : "ambiguous"
      }))
