import { NodeHttpServerRequest } from "@effect/platform-node"
import { Cause, Clock, Effect, type Scope } from "effect"
import { type HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { InternalError } from "../domain/errors/Ambiguous.ts"
import { MethodNotAllowed, NotFound } from "../domain/errors/Terminal.ts"
import { pathOf } from "../domain/SignedText.ts"
import { Authentication } from "../services/Authentication.ts"
import { Identifiers } from "../services/ports/Identifiers.ts"
import { refused } from "./Answer.ts"
import { CALLBACK_BYTES, mediaType, origin, rawBody, REQUEST_BYTES, valuesOf } from "./BodyGuard.ts"
import { CurrentRequest } from "./CurrentRequest.ts"
import type { Refusal } from "./Envelope.ts"
import { isCallbackPath, isSignedPath, type Match, matchRoute } from "./Routes.ts"

type Response = HttpServerResponse.HttpServerResponse
/** The endpoints, once the edge let a request through. */
export type Endpoints = Effect.Effect<Response, unknown, HttpServerRequest.HttpServerRequest | Scope.Scope>

/** What one request is about, known before anything is decided. */
interface Arrival {
  readonly requestId: string
  readonly method: string
  readonly rawTarget: string
  readonly path: string
  readonly rawHeaders: ReadonlyArray<string>
  readonly match: Match
}

/**
 * Everything between the socket and an endpoint, in the contract's order: size, signature, content type and origin, route. Whatever
 * happens, exactly one envelope comes out; each request has one span and one line in the log.
 */
export const makeEdge = Effect.gen(function* () {
  const authentication = yield* Authentication
  const identifiers = yield* Identifiers

  const admitted = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest, arrival: Arrival, endpoints: Endpoints) {
    const { match, method, path, rawHeaders, rawTarget, requestId } = arrival
    const isCallback = isCallbackPath(path)
    const body = yield* rawBody(request, isCallback ? CALLBACK_BYTES : REQUEST_BYTES)
    const signed = isSignedPath(rawTarget, path)
    const caller = signed ? yield* authentication.authenticate({ method, rawTarget, rawHeaders, body }) : null
    if (caller !== null) yield* Effect.annotateLogsScoped({ app_id: caller.appId })
    // What a provider sends is its own affair: it is verified over its bytes.
    const refusal = (isCallback ? undefined : mediaType(method, rawHeaders)) ?? origin(rawHeaders)
    if (refusal !== undefined) return yield* Effect.fail(refusal)
    if (match._tag === "Unknown") return yield* new NotFound()
    if (match._tag === "WrongMethod") return HttpServerResponse.setHeader(refused(new MethodNotAllowed()), "allow", match.allow)
    return yield* Effect.provideService(endpoints, CurrentRequest, { requestId, rawHeaders, body, caller })
  })

  return (endpoints: Endpoints) =>
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const startedAt = yield* Clock.currentTimeMillis
      const arrival = yield* arrivalOf(request, identifiers)
      const { match, method, requestId } = arrival
      const route = match._tag === "Found" ? match.route.template : "unknown"
      const response = yield* Effect.interruptible(admitted(request, arrival, endpoints)).pipe(
        Effect.catchCause((cause) => answerTo(cause, requestId)),
        Effect.tap(({ status }) => Effect.annotateCurrentSpan("http.response.status_code", status)),
        // The caller's own trace never becomes the parent of ours.
        Effect.withSpan(`${method} ${route}`, {
          root: true,
          kind: "server",
          attributes: { "http.request.method": method, "http.route": route, "gateway.request_id": requestId }
        })
      )
      const endedAt = yield* Clock.currentTimeMillis
      yield* Effect.logInfo("request").pipe(
        Effect.annotateLogs({ method, route, status: response.status, duration_ms: endedAt - startedAt, request_id: requestId })
      )
      return HttpServerResponse.setHeader(response, "x-request-id", requestId)
    })
})

const arrivalOf = (request: HttpServerRequest.HttpServerRequest, identifiers: Identifiers["Service"]) => {
  const { rawHeaders, url: rawTarget = "" } = NodeHttpServerRequest.toIncomingMessage(request)
  const path = pathOf(rawTarget)
  const { method } = request
  const [requestId, ...more] = valuesOf(rawHeaders, "x-request-id")
  const isUsable = requestId !== undefined && more.length === 0 && PRINTABLE.test(requestId)
  return Effect.map(
    isUsable ? Effect.succeed(requestId) : identifiers.reference,
    (requestId): Arrival => ({ requestId, method, rawTarget, path, rawHeaders, match: matchRoute(method, path) })
  )
}

const PRINTABLE = /^[\x20-\x7e]{1,128}$/

/** A refusal as its envelope; a bug, a broken database or an interruption as `internal_error`, with its cause in the log only. */
const answerTo = (cause: Cause.Cause<unknown>, requestId: string): Effect.Effect<Response> => {
  const internal = refused(new InternalError({ request_id: requestId }))
  if (Cause.hasInterruptsOnly(cause)) return Effect.succeed(internal)
  return Effect.as(Effect.logError("the request broke", cause), internal)
}
