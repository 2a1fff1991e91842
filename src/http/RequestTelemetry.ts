import { Clock, Effect, Metric, Option, Schema } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import { pathOf } from "../domain/CanonicalText.ts"
import { labelledMetric } from "../runtime/LabelledMetric.ts"
import type { Arrival } from "./Arrival.ts"
import { matchRoute } from "./HttpRoutes.ts"
import { asReceived } from "./NodeListener.ts"

// Labels are templates, codes and classes: nothing that a caller can make more of.

const requests = labelledMetric((attributes: { readonly route: string; readonly status: string }) =>
  Metric.counter("gateway_http_requests_total", { description: "Requests, by route and status.", incremental: true, attributes })
)
const errors = labelledMetric((attributes: { readonly code: string; readonly class: string }) =>
  Metric.counter("gateway_http_errors_total", {
    description: "Refused requests, by the error's code and class.",
    incremental: true,
    attributes
  })
)
const durations = labelledMetric((attributes: { readonly route: string }) =>
  Metric.histogram("gateway_http_request_duration_seconds", {
    description: "How long requests took, by route.",
    boundaries: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60],
    attributes
  })
)

const MS_PER_SECOND = 1000

/** A counter that is not there yet grows from nothing, which no alert sees: those that alerts watch begin at zero. */
export const startErrorCounters = Effect.forEach(
  [
    { code: "internal_error", class: "ambiguous" },
    { code: "unauthorized", class: "retriable" }
  ],
  (error) => errors(error, 0),
  { discard: true }
)

/** Counts what an answering effect answers, an error by what its envelope says. */
export const withRequestMetrics = <E, R>(
  effect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R | HttpServerRequest.HttpServerRequest> =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const startedAt = yield* Clock.currentTimeMillis
    const response = yield* effect
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

export interface RequestOutcome {
  /** Empty where nobody signed. */
  readonly appId: string
  readonly response: HttpServerResponse.HttpServerResponse
}

/** Of what nobody signed so many requests have a line of their own in each window; the others are counted. */
const UNSIGNED_LINES = 100
const WINDOW = "10 seconds"
const FIRST_FAULT = 500

/**
 * One line a request, inside its span, so that the line carries the span's ids. Anybody can send requests without a signature: beyond
 * `UNSIGNED_LINES` they are counted by status, and each count is one line when the window ends. Our own faults always have a line.
 */
export const makeRequestLog = Effect.gen(function* () {
  const scope = yield* Effect.scope
  const unlogged = new Map<number, number>()
  let lines = 0

  const endWindow = Effect.suspend(() => {
    lines = 0
    const counts = [...unlogged]
    unlogged.clear()
    return Effect.forEach(
      counts,
      ([status, count]) => Effect.logInfo(`${count} more unsigned requests`).pipe(Effect.annotateLogs({ status, count })),
      { discard: true }
    )
  })
  yield* Effect.addFinalizer(() => endWindow)

  /** Whether it has a line of its own. */
  const hasOwnLine = Effect.fnUntraced(function* (appId: string, status: number) {
    if (appId !== "" || status >= FIRST_FAULT) return true
    lines += 1
    if (lines === 1) yield* Effect.forkIn(Effect.delay(endWindow, WINDOW), scope)
    if (lines <= UNSIGNED_LINES) return true
    unlogged.set(status, (unlogged.get(status) ?? 0) + 1)
    return false
  })

  return Effect.fnUntraced(function* (
    startedAt: number,
    { method, requestId }: Arrival,
    route: string,
    { appId, response }: RequestOutcome
  ) {
    const duration_ms = (yield* Clock.currentTimeMillis) - startedAt
    // The router has put its own spelling of the route there.
    yield* Effect.annotateCurrentSpan({
      "http.route": route,
      "http.response.status_code": response.status,
      "gateway.app_id": appId,
      ...errorAttributes(response)
    })
    if (!(yield* hasOwnLine(appId, response.status))) return
    yield* Effect.logInfo("request").pipe(
      Effect.annotateLogs({ method, route, status: response.status, duration_ms, request_id: requestId, app_id: appId })
    )
  })
})
