import { Clock, Effect, Metric, Option, Schema } from "effect"
import type { HttpServerResponse } from "effect/http"
import type { Candidate } from "../../domain/Candidates.ts"
import { isReference } from "../../domain/Ids.ts"
import { boundedLog } from "../../runtime/BoundedLog.ts"
import { labelledMetric } from "../../runtime/LabelledMetric.ts"
import { candidatesNoted } from "../../runtime/RouteTrail.ts"
import { annotateTraced } from "../../runtime/Tracing.ts"
import type { RequestHead } from "./RequestHead.ts"
import { singleValue } from "./RequestHeaders.ts"

// Labels are route templates, codes and classes, so that a caller cannot create new ones.

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

const candidates = labelledMetric((attributes: { readonly provider: string; readonly verdict: string }) =>
  Metric.counter("gateway_route_candidates_total", {
    description: "Providers that a payment could go to, by what became of them. Those whose turn did not come are not counted.",
    incremental: true,
    attributes
  })
)

const MS_PER_SECOND = 1000

/** The counters that alerts use start at zero: an alert does not notice the first increase of a new counter. */
export const startErrorCounters = Effect.forEach(
  [
    { code: "internal_error", class: "ambiguous" },
    { code: "unauthorized", class: "retriable" }
  ],
  (error) => errors(error, 0),
  { discard: true }
)

/** Counts and times a response; an error by the code and class in its envelope. */
export const countResponse = Effect.fnUntraced(function* (
  startedAt: number,
  { match }: RequestHead,
  response: HttpServerResponse.HttpServerResponse
) {
  const seconds = ((yield* Clock.currentTimeMillis) - startedAt) / MS_PER_SECOND
  const route = match._tag === "Found" ? match.route.name : "unknown"
  yield* requests({ route, status: String(response.status) }, 1)
  yield* durations({ route }, seconds)
  const refused = errorOf(response)
  if (Option.isSome(refused)) yield* errors(refused.value, 1)
})

/** Counts the verdicts on a payment's candidate providers. */
export const countCandidates = (all: ReadonlyArray<Candidate>) =>
  Effect.forEach(
    all.filter(({ verdict }) => verdict !== "not_asked"),
    ({ provider, verdict }) => candidates({ provider, verdict }, 1),
    { discard: true }
  )

/** The span attributes of a request that ended in an error. Only our own faults set `error.type`; a refusal does not. */
const errorAttributes = (response: HttpServerResponse.HttpServerResponse): Readonly<Record<string, string>> =>
  Option.match(errorOf(response), {
    onNone: () => ({}),
    onSome: ({ class: errorClass, code }) => ({
      "gateway.error_code": code,
      "gateway.error_class": errorClass,
      ...(response.status >= FIRST_FAULT ? { "error.type": code } : {})
    })
  })

/** The request's method and address. The exporter removes private parts from the path. */
const addressAttributes = ({ match, path, rawHeaders }: RequestHead): Readonly<Record<string, string | number>> => {
  // Set by the proxy that terminates TLS; no decision depends on it.
  const scheme = singleValue(rawHeaders, "x-forwarded-proto") === "https" ? "https" : "http"
  const [, address, port] = HOST.exec(singleValue(rawHeaders, "host") ?? "") ?? []
  return {
    "url.scheme": scheme,
    "url.path": path,
    ...(match._tag === "Found" ? { "http.route": match.route.template } : {}),
    ...(address === undefined
      ? {}
      : { "server.address": address, "server.port": port === undefined ? defaultPorts[scheme] : Number(port) })
  }
}

const defaultPorts = { https: 443, http: 80 } as const
/** A host name or an address, with an optional port. */
const HOST = /^([a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::(\d{1,5}))?$/i

const decodeError = Schema.decodeUnknownOption(
  Schema.fromJsonString(
    Schema.Struct({
      error: Schema.Struct({
        code: Schema.String,
        terminal: Schema.Boolean,
        retriable: Schema.Boolean
      })
    })
  )
)

const FIRST_ERROR = 400
const FIRST_FAULT = 500

/** Read from the bytes, not from the error, because a replayed response consists of bytes only. */
const errorOf = ({ body, status }: HttpServerResponse.HttpServerResponse) =>
  status < FIRST_ERROR || body._tag !== "Uint8Array"
    ? Option.none()
    : Option.map(decodeError(Buffer.from(body.body).toString("utf8")), ({ error }) => ({
        code: error.code,
        class: error.terminal ? "terminal" : error.retriable ? "retriable" : "ambiguous"
      }))

/** How far into a response its transaction is searched for. */
const NAMED_WITHIN_BYTES = 512
const NAMED = /"reference":"([0-9A-HJKMNP-TV-Z]{26})"/

/** The transaction that a request is about: the one in its path, or the first one that a money step's response names. */
const referenceOf = ({ match }: RequestHead, { body }: HttpServerResponse.HttpServerResponse): string | undefined => {
  if (match._tag !== "Found") return undefined
  const { reference } = match.params
  if (reference !== undefined) return isReference(reference) ? reference : undefined
  if (match.route.operation?.idempotencyKey === undefined || body._tag !== "Uint8Array") return undefined
  const { buffer, byteLength, byteOffset } = body.body
  return NAMED.exec(Buffer.from(buffer, byteOffset, Math.min(byteLength, NAMED_WITHIN_BYTES)).toString("latin1"))?.[1]
}

export interface RequestOutcome {
  /** Empty when no signature was verified. */
  readonly appId: string
  /** Of a callback to one of our addresses. */
  readonly provider?: string
  readonly response: HttpServerResponse.HttpServerResponse
  /** True when the request was refused before its tenant was known and nothing failed: any client can send many of these. */
  readonly isRefused?: boolean
}

/**
 * Writes one log line per request, inside its span, so that the line has the span's ids. Any client can send unsigned requests,
 * so in a flood most of them are counted by status (`boundedLog`). Requests that failed by our own fault are counted
 * separately, so that a flood of refused requests does not hide them.
 */
export const makeRequestLog = Effect.gen(function* () {
  const more = (status: number, count: number) =>
    Effect.logInfo("more unsigned requests").pipe(Effect.annotateLogs({ status, count }))
  const [isRefusedLine, isFaultLine] = [yield* boundedLog(more), yield* boundedLog(more)]

  /** Whether the request gets its own line. */
  const hasOwnLine = ({ appId, isRefused = false, response: { status } }: RequestOutcome): Effect.Effect<boolean> =>
    appId !== "" ? Effect.succeed(true) : status >= FIRST_FAULT && !isRefused ? isFaultLine(status) : isRefusedLine(status)

  return Effect.fnUntraced(function* (startedAt: number, head: RequestHead, route: string, outcome: RequestOutcome) {
    const { appId, provider, response } = outcome
    const { method, requestId } = head
    const reference = referenceOf(head, response)
    const candidates = yield* candidatesNoted
    const duration_ms = (yield* Clock.currentTimeMillis) - startedAt
    yield* annotateTraced(() => ({
      ...addressAttributes(head),
      "http.response.status_code": response.status,
      "gateway.app_id": appId,
      ...(reference === undefined ? {} : { "gateway.reference": reference }),
      ...(candidates === "" ? {} : { "gateway.candidates": candidates }),
      ...errorAttributes(response)
    }))
    if (!(yield* hasOwnLine(outcome))) return
    yield* Effect.logInfo("request").pipe(
      Effect.annotateLogs({
        method,
        route,
        status: response.status,
        duration_ms,
        request_id: requestId,
        app_id: appId,
        ...(reference === undefined ? {} : { reference }),
        ...(provider === undefined ? {} : { provider }),
        ...(candidates === "" ? {} : { candidates })
      })
    )
  })
})
