import { Cause, Clock, Deferred, Effect, Fiber, Option, type Scope } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiError } from "effect/http-api"
import { InternalError } from "../domain/errors/Ambiguous.ts"
import { RateLimited } from "../domain/errors/Retriable.ts"
import { MalformedRequest, MethodNotAllowed, NotFound, ValidationFailed } from "../domain/errors/Terminal.ts"
import { makeTimer, timeoutWith } from "../runtime/Timer.ts"
import { inSpan } from "../runtime/Tracing.ts"
import { Authentication } from "../services/admission/Authentication.ts"
import { Identifiers } from "../services/ports/Identifiers.ts"
import { Ingress } from "../services/settlement/Ingress.ts"
import { type Arrival, arrivalOf } from "./Arrival.ts"
import { CALLBACK_BYTES, mediaType, origin, REQUEST_BYTES, rawBody } from "./BodyGuard.ts"
import { clientAddress } from "./ClientAddress.ts"
import { type Leave, makeConcurrencyLimit } from "./ConcurrencyLimit.ts"
import { clientOf } from "./ConnectionLimit.ts"
import { callbackOf, isCallbackPath, isSignedPath, type Match } from "./HttpRoutes.ts"
import { bounded, fieldIssues } from "./Issues.ts"
import { afterAnswer } from "./NodeListener.ts"
import { callerTraceLinks, valuesOf } from "./RequestHeaders.ts"
import { kindOf, makeRequestRate, type RateSettings } from "./RequestRate.ts"
import { makeRequestLog } from "./RequestTelemetry.ts"
import { errorResponse, withSafeHeaders } from "./Response.ts"
import { CurrentRequest, type EdgeRequest } from "./SignedRequest.ts"

type Response = HttpServerResponse.HttpServerResponse
/** The endpoints, once the edge let a request through. */
export type Endpoints = Effect.Effect<Response, unknown, HttpServerRequest.HttpServerRequest | Scope.Scope>

/**
 * Everything between the socket and an endpoint, in the contract's order: size, signature, content type and origin, rate, route. Whatever
 * happens, exactly one envelope comes out; each request has one span and,
 * unless a flood of unsigned ones is counted, one line in the log.
 */
export const makeEdge = Effect.fnUntraced(function* (settings: RateSettings) {
  const authentication = yield* Authentication
  const requestRate = yield* makeRequestRate(settings)
  const identifiers = yield* Identifiers
  const ingress = yield* Ingress
  const place = makeConcurrencyLimit(settings.requestPlaces)
  const inTime = timeoutWith(yield* makeTimer)
  const logged = yield* makeRequestLog
  const addressOf = clientAddress(settings.trustedProxies)

  /** Whoever does not know a callback's secret path is answered before a byte of the body is taken. */
  const stray = ({ match, path, rawHeaders }: Arrival): Response | undefined => {
    if (!isCallbackPath(path)) return undefined
    const foreign = origin(rawHeaders)
    if (foreign !== undefined) return errorResponse(foreign)
    if (match._tag !== "Found") return unrouted(match)
    const callback = callbackOf(path)
    return callback !== undefined && ingress.knows(callback.provider, callback.routeKey)
      ? undefined
      : errorResponse(new NotFound())
  }

  const admitted = Effect.fnUntraced(function* (
    request: HttpServerRequest.HttpServerRequest,
    arrival: Arrival,
    endpoints: Endpoints,
    { outlasts, seated }: Held
  ) {
    const { method, path, rawHeaders, rawTarget } = arrival
    const strayed = stray(arrival)
    const peer = Option.getOrElse(request.remoteAddress, () => "")
    const isSigned = isSignedPath(rawTarget, path)
    const isCallback = isCallbackPath(path) && strayed === undefined
    if (!isSigned && !isCallback) {
      const client = clientOf(addressOf(peer, valuesOf(rawHeaders, "x-forwarded-for")))
      yield* Effect.uninterruptible(Effect.flatMap(place("unsigned", client), seated))
    }
    if (strayed !== undefined) return { appId: "", response: strayed }
    const limit = isCallbackPath(path) ? CALLBACK_BYTES : REQUEST_BYTES
    // Stopping to read would cut the connection, and nobody would learn why.
    const reading = yield* Effect.forkChild(rawBody(request, limit), { startImmediately: true })
    const body = yield* inTime(Fiber.join(reading), BODY_MS, () => Effect.succeed(null))
    if (body === null) return { appId: "", response: lateBody }
    const caller = isSigned
      ? yield* inTime(authentication.authenticate({ method, rawTarget, rawHeaders, body }), AUTHENTICATION_MS, shed)
      : null
    const response = yield* Effect.gen(function* () {
      // What a provider sends is its own affair: it is verified over its bytes.
      const refusal = (isCallbackPath(path) ? undefined : mediaType(method, rawHeaders)) ?? origin(rawHeaders)
      if (refusal !== undefined) return errorResponse(refusal)
      if (caller !== null) yield* requestRate({ ...arrival, caller, peer })
      const callback = callbackOf(path)
      if (caller !== null) yield* Effect.uninterruptible(Effect.flatMap(place(kindOf(arrival), caller.appId), seated))
      else if (callback !== undefined)
        yield* Effect.uninterruptible(Effect.flatMap(place("callbacks", callback.provider), seated))
      return yield* routed(arrival, { body, caller, outlasts }, endpoints)
    }).pipe(Effect.catch((refusal) => Effect.succeed(errorResponse(refusal))))
    return { appId: caller?.appId ?? "", response }
  })

  const answered = Effect.fnUntraced(function* (
    request: HttpServerRequest.HttpServerRequest,
    arrival: Arrival,
    endpoints: Endpoints
  ) {
    const going = yield* Deferred.make<Fiber.Fiber<Response>>()
    const seat = yield* Deferred.make<Leave>()
    const held: Held = {
      outlasts: (answer) => Deferred.succeed(going, answer),
      seated: (leave) => Deferred.succeed(seat, leave)
    }
    return yield* Effect.interruptible(admitted(request, arrival, endpoints, held)).pipe(
      Effect.catchTag(
        "HttpServerError",
        () => new MalformedRequest({ issues: [{ path: "", message: "The body did not arrive." }] })
      ),
      Effect.catch((refusal) => Effect.succeed({ appId: "", response: errorResponse(refusal) })),
      Effect.catchCause((cause) =>
        Effect.map(cutShort(cause, arrival.requestId, going), (response) => ({ appId: "", response }))
      ),
      // Work that outlasts its client keeps its place, and so does an answer until it is read: both hold memory.
      Effect.ensuring(
        Effect.flatMap(Deferred.poll(seat), Option.match({ onNone: () => Effect.void, onSome: givesBack(request) }))
      )
    )
  })

  return (endpoints: Endpoints) =>
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const startedAt = yield* Clock.currentTimeMillis
      const arrival = yield* arrivalOf(request, identifiers)
      const { match, method, requestId } = arrival
      const route = match._tag === "Found" ? match.route.template : "unknown"
      const { response } = yield* answered(request, arrival, endpoints).pipe(
        Effect.tap((answer) => logged(startedAt, arrival, route, answer)),
        inSpan(`${method} ${route}`, {
          root: true,
          kind: "server",
          links: callerTraceLinks(arrival.rawHeaders),
          attributes: { "http.request.method": method, "gateway.request_id": requestId }
        })
      )
      return withSafeHeaders(response, requestId)
    })
})

const givesBack = (request: HttpServerRequest.HttpServerRequest) => (seat: Effect.Effect<Leave>) =>
  Effect.map(seat, (leave) => afterAnswer(request, leave))

/** What a request has that must not be lost when it is cut short. */
interface Held {
  readonly outlasts: EdgeRequest["outlasts"]
  readonly seated: (leave: Leave) => Effect.Effect<boolean>
}

/** The whole body of a request arrives in this time, however it is sent; then the connection is closed. */
const BODY_MS = 30_000
const lateBody: Response = HttpServerResponse.setHeader(
  errorResponse(
    new MalformedRequest({ issues: [{ path: "", message: `The body did not arrive within ${BODY_MS / 1000} seconds.` }] })
  ),
  "connection",
  "close"
)

/** Whoever signed should not wait for a database that hangs, or for a process that is overrun: nothing is begun yet, and so it is shed. */
const AUTHENTICATION_MS = 5_000
const SHED_RETRY_AFTER_SECONDS = 1

const shed = () =>
  Effect.andThen(
    Effect.logWarning("the signature could not be checked in time"),
    Effect.suspend(() => Effect.fail(new RateLimited({ scope: "server", retry_after_seconds: SHED_RETRY_AFTER_SECONDS })))
  )

/** What comes last: route and endpoint. */
const routed = (
  arrival: Arrival,
  admitted: Pick<EdgeRequest, "body" | "caller" | "outlasts">,
  endpoints: Endpoints
): Effect.Effect<Response, never, HttpServerRequest.HttpServerRequest | Scope.Scope> => {
  const { match, rawHeaders, requestId } = arrival
  if (match._tag !== "Found") return Effect.succeed(unrouted(match))
  return Effect.provideService(Effect.orDie(endpoints), CurrentRequest, { requestId, rawHeaders, ...admitted })
}

const unrouted = (match: Exclude<Match, { readonly _tag: "Found" }>): Response =>
  match._tag === "Unknown"
    ? errorResponse(new NotFound())
    : HttpServerResponse.setHeader(errorResponse(new MethodNotAllowed()), "allow", match.allow)

type Misfit = Cause.Die & { readonly defect: HttpApiError.HttpApiSchemaError }

/** A query or a path that its endpoint's schema does not take: the router knows no other way to say so than a defect. */
const isMisfit = (reason: Cause.Reason<unknown>): reason is Misfit =>
  Cause.isDieReason(reason) &&
  HttpApiError.HttpApiSchemaError.is(reason.defect) &&
  (reason.defect.kind === "Query" || reason.defect.kind === "Params")

const misfitRefusal = ({ cause }: HttpApiError.HttpApiSchemaError): ValidationFailed =>
  new ValidationFailed({ issues: bounded(fieldIssues(cause.issue, undefined)) })

/** A money step outlasts a client that goes away and a server that stops: whoever still listens gets its answer. */
const cutShort = Effect.fnUntraced(function* (
  cause: Cause.Cause<unknown>,
  requestId: string,
  going: Deferred.Deferred<Fiber.Fiber<Response>>
) {
  const work = Cause.hasInterruptsOnly(cause) ? yield* Deferred.poll(going) : Option.none()
  return yield* Option.isSome(work) ? Effect.flatMap(work.value, Fiber.join) : broken(cause, requestId)
})

/** A bug, a broken database or an interruption is `internal_error`, with its cause in the log only. */
const broken = (cause: Cause.Cause<unknown>, requestId: string): Effect.Effect<Response> => {
  const internal = errorResponse(new InternalError({ request_id: requestId }))
  if (Cause.hasInterruptsOnly(cause)) return Effect.succeed(internal)
  const misfit = cause.reasons.find(isMisfit)
  if (misfit !== undefined) return Effect.succeed(errorResponse(misfitRefusal(misfit.defect)))
  return Effect.logError("the request broke", cause).pipe(Effect.annotateLogs({ request_id: requestId }), Effect.as(internal))
}
