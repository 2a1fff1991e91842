import { Cause, Clock, Effect, Option } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { foundNone } from "../../domain/Candidates.ts"
import { InternalError } from "../../domain/errors/Ambiguous.ts"
import type { ApiError } from "../../domain/errors/ApiError.ts"
import { CrossOriginDenied, MethodNotAllowed, NotFound } from "../../domain/errors/Terminal.ts"
import { CallTrail } from "../../runtime/CallTrail.ts"
import { emptyTrail, RouteTrail } from "../../runtime/RouteTrail.ts"
import { interruptedAfter, makeTimer } from "../../runtime/Timer.ts"
import { whereTooLate } from "../../runtime/TooLate.ts"
import { inSpan } from "../../runtime/Tracing.ts"
import { UnroutedPayments } from "../../runtime/UnroutedPayments.ts"
import { Authentication, type RawRequest } from "../../services/admission/Authentication.ts"
import { CommitsWaiting } from "../../services/ports/CommitsWaiting.ts"
import { RandomSource } from "../../services/ports/RandomSource.ts"
import { ProviderCallbacks } from "../../services/settlement/ProviderCallbacks.ts"
import type { EdgeRequest } from "../api/SignedRequest.ts"
import { clientAddress, clientOf } from "./ClientAddress.ts"
import { makeConcurrencyLimit, type Release, type SlotKind } from "./ConcurrencyLimit.ts"
import { ARRIVAL_MS, ARRIVAL_WHILE_COMMITS_WAIT_MS, makeWriteInTime, shed } from "./Deadlines.ts"
import { type Endpoints, isRead } from "./Endpoints.ts"
import { callbackOf, isCallbackPath, isSignedPath, type Match } from "./HttpRoutes.ts"
import { afterResponse } from "./NodeListener.ts"
import { bodyReader, CALLBACK_BYTES, drained, isBodyless, lateBody, mediaType, REQUEST_BYTES } from "./RequestBody.ts"
import { type RequestHead, requestHeadOf } from "./RequestHead.ts"
import { callerTraceLinks, valuesOf } from "./RequestHeaders.ts"
import { kindOf, makeRequestRate, type RateSettings } from "./RequestRate.ts"
import { countCandidates, countResponse, makeRequestLog } from "./RequestTelemetry.ts"
import { errorResponse, withStandardHeaders } from "./Response.ts"

type Response = HttpServerResponse.HttpServerResponse

/**
 * Everything between the socket and an endpoint.
 *
 * Handles every request that the HTTP parser accepts. Gives exactly one response, whatever happens: the endpoint's, or an error
 * envelope. Each request has one span and one log line; a flood of unsigned requests is counted instead. Refuses, in the
 * contract's order:
 *
 * 1. an unsigned request without a free slot (429), and a callback to an address that does not exist (403, 404, 405)
 * 2. a body that is too large or does not arrive (413, 400)
 * 3. a signature that is invalid (401) or that cannot be checked in time (429, or 500 while commits wait for a standby); then
 *   every signed request while commits wait (500), its nonce unspent
 * 4. a content type other than JSON (the body itself is decoded by the endpoint), and a browser on another origin (415, 403)
 * 5. a caller that exceeds its rate, or for which no slot is free (429)
 * 6. a path that does not exist, or not with this method (404, 405)
 *
 * The server runs a request uninterruptibly, with two exceptions. The check of its signature or nonce is interrupted when it
 * times out. A read that commits nothing is interrupted when its client disconnects, or ten seconds after the server began to
 * stop (`Server`). A write always continues, and the server waits for it before it stops. A write that takes too long, or that
 * is running when commits begin to wait for a standby, gets an ambiguous response (500) in the meantime. `Deadlines` has the
 * times; `Idempotent` has a table of these cases for requests that move money.
 */
export const makeEdge = Effect.fnUntraced(function* (settings: RateSettings) {
  const authentication = yield* Authentication
  const randomSource = yield* RandomSource
  const ingress = yield* ProviderCallbacks
  const takePlace = makeConcurrencyLimit(settings.requestSlots)
  const rateOf = yield* makeRequestRate(settings)
  const timer = yield* makeTimer
  const [readBody, inTime] = [bodyReader(timer), interruptedAfter(timer)]
  const writeInTime = yield* makeWriteInTime(timer, yield* Effect.scope)
  const logRequest = yield* makeRequestLog
  const commitsWaiting = yield* CommitsWaiting
  const unrouted = yield* UnroutedPayments
  const addressOf = clientAddress(settings.trustedProxies)

  const serve = (endpoints: Endpoints) =>
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const startedAt = yield* Clock.currentTimeMillis
      const head = yield* requestHeadOf(request, randomSource)
      const { match, method, requestId } = head
      const route = match._tag === "Found" ? match.route.template : "unknown"
      const trail = isRead(method) ? null : emptyTrail()
      const { appId, response } = yield* respondAlways({ request, head, endpoints, held: { release: null } }).pipe(
        Effect.tap((outcome) => logRequest(startedAt, head, route, outcome)),
        Effect.provideService(RouteTrail, trail),
        Effect.provideService(CallTrail, isRead(method) ? null : []),
        // Name and attributes follow the semantic conventions.
        inSpan(match._tag === "Found" ? `${method} ${route}` : method, {
          root: true,
          kind: "server",
          links: callerTraceLinks(head.rawHeaders),
          attributes: { "http.request.method": method, "gateway.request_id": requestId }
        })
      )
      yield* countResponse(startedAt, head, response)
      if (isMoneyStep(match) && trail !== null) {
        const candidates = [...trail.values()]
        yield* countCandidates(candidates)
        if (foundNone(candidates)) unrouted.record({ at: startedAt, appId, requestId, asked: `${method} ${route}`, candidates })
      }
      return withStandardHeaders(response, requestId)
    })

  /** Runs the checks and the endpoint, and turns every error, defect and interruption into a response. */
  const respondAlways = (incoming: Incoming) =>
    respond(incoming).pipe(
      Effect.catch((error) => Effect.succeed({ appId: "", response: errorResponse(error), isRefused: true })),
      Effect.catchCause((cause) =>
        Effect.map(failureResponse(cause, incoming.head.requestId), (response) => ({ appId: "", response }))
      ),
      // A request keeps its slot until its client has read the response, because the response takes memory too; when the client
      // has disconnected, until the response is made. Work that continues after its response holds no slot.
      Effect.ensuring(
        Effect.sync(() => {
          if (incoming.held.release !== null) afterResponse(incoming.request, incoming.held.release)
        })
      )
    )

  /**
   * Runs the checks in order, then the endpoint. A request that is refused before its signature was verified belongs to no
   * tenant.
   */
  const respond = Effect.fnUntraced(function* (incoming: Incoming) {
    const { head, request } = incoming
    const { match, method, path, rawHeaders, rawTarget, requestId } = head
    const peer = Option.getOrElse(request.remoteAddress, () => "")
    const from = () => addressOf(peer, valuesOf(rawHeaders, "x-forwarded-for"))
    const stray = strayCallback(head)
    const callback = stray === undefined ? callbackOf(path) : undefined
    const isSigned = isSignedPath(rawTarget, path)
    if (!isSigned && callback === undefined) yield* holdPlace(incoming, "unsigned", clientOf(from()))
    if (stray !== undefined) return { appId: "", response: stray }
    const limit = callback === undefined ? REQUEST_BYTES : CALLBACK_BYTES
    const body = isBodyless(method) ? drained(request) : yield* readBody(request, limit)
    if (body === null) return { appId: "", response: lateBody }
    const admitted = { requestId, rawHeaders, body, caller: null, nonce: null, claimWithinMs: ARRIVAL_MS }
    if (callback !== undefined) {
      // A callback may have any content type: its signature covers the bytes.
      const place = holdPlace(incoming, "callbacks", `${callback.provider}/${callback.routeKey}`)
      return { appId: "", response: yield* dispatch(incoming, admitted, place), provider: callback.provider }
    }
    if (!isSigned) return { appId: "", response: yield* dispatch(incoming, admitted, acceptable(head)) }
    const isClaim = claimsKey(match, rawHeaders)
    const signed = { method, rawTarget, rawHeaders, body, clientAddress: from }
    const { caller, commitsWait, nonce } = yield* authenticate(signed, isClaim, requestId)
    if (commitsWait) return { appId: caller.appId, response: internal(requestId) }
    const rate = rateOf({ ...head, caller, peer, body })
    const admission = Effect.andThen(Effect.andThen(acceptable(head), rate.take), holdPlace(incoming, kindOf(head), caller.appId))
    const exit = yield* Effect.exit(dispatch(incoming, { ...admitted, caller, nonce: isClaim ? nonce : null }, admission))
    // A request that was refused before its claim spends its nonce before the response. A replayed request is refused for its
    // nonce alone.
    if (!nonce.isSettled())
      yield* inTime(nonce.settle, ARRIVAL_MS, tooLate(requestId)).pipe(Effect.tapErrorTag("unauthorized", () => rate.giveBack))
    return { appId: caller.appId, response: yield* exit }
  })

  /** The endpoint's response, once `admission` has passed. */
  const dispatch = ({ endpoints, head, request }: Incoming, admitted: EdgeRequest, admission: Effect.Effect<void, ApiError>) =>
    withErrors(
      Effect.gen(function* () {
        yield* admission
        const { match, method, requestId } = head
        if (match._tag !== "Found") return noRoute(match)
        const run = endpoints(request, match, admitted)
        // A money step has its own deadline.
        if (isMoneyStep(match)) return yield* run
        // An admin's read commits an audit row (`view=raw`), so it is treated as a write.
        if (isRead(method) && admitted.caller?.role !== "admin") return yield* Effect.interruptible(run)
        return yield* writeInTime(withErrors(run), requestId, () => internal(requestId))
      })
    )

  const holdPlace = ({ held }: Incoming, kind: SlotKind, holder: string) =>
    Effect.map(takePlace(kind, holder), (release) => {
      held.release = release
    })

  /**
   * Authenticates a request within `ARRIVAL_MS`. A request with an idempotency key spends its nonce with the claim; the nonce
   * of any other request is spent here. While commits wait for a standby none is spent, because the outcome of that commit
   * would be unknown.
   */
  const authenticate = Effect.fnUntraced(function* (request: RawRequest, isClaim: boolean, requestId: string) {
    const signedWithinMs = (yield* commitsWaiting) ? ARRIVAL_WHILE_COMMITS_WAIT_MS : ARRIVAL_MS
    const authenticated = Effect.gen(function* () {
      const { caller, nonce } = yield* authentication.authenticate(request)
      const commitsWait = yield* commitsWaiting
      if (!commitsWait && !isClaim) yield* nonce.settle
      return { caller, nonce, commitsWait }
    })
    return yield* inTime(
      whereTooLate(authenticated, (cause) => tooLate(requestId, cause)),
      signedWithinMs,
      tooLate(requestId)
    )
  })

  /** Before the nonce is spent, only checks and reads were made for the request, so it can be shed. */
  const tooLate = Effect.fnUntraced(function* (requestId: string, cause: Cause.Cause<never> = Cause.empty) {
    if (!(yield* commitsWaiting)) yield* Effect.logWarning("request authentication timed out", cause)
    return yield* shed(requestId)
  })

  /** The response to an unexpected callback. It is sent before any byte of the body is read. */
  const strayCallback = ({ match, path, rawHeaders }: RequestHead): Response | undefined => {
    if (!isCallbackPath(path)) return undefined
    const foreign = origin(rawHeaders)
    if (foreign !== undefined) return errorResponse(foreign)
    if (match._tag !== "Found") return noRoute(match)
    const callback = callbackOf(path)
    return callback !== undefined && ingress.knows(callback.provider, callback.routeKey)
      ? undefined
      : errorResponse(new NotFound())
  }

  return serve
})

/** A request on its way to its endpoint. */
interface Incoming {
  readonly request: HttpServerRequest.HttpServerRequest
  readonly head: RequestHead
  readonly endpoints: Endpoints
  /** The slot that it holds, once it has one. */
  readonly held: { release: Release | null }
}

const withErrors = <R>(answer: Effect.Effect<Response, ApiError, R>) =>
  Effect.catch(answer, (error) => Effect.succeed(errorResponse(error)))

/** Whether `Idempotent` runs the operation. */
const isMoneyStep = (match: Match): boolean => match._tag === "Found" && match.route.operation?.idempotencyKey !== undefined
const claimsKey = (match: Match, rawHeaders: ReadonlyArray<string>): boolean =>
  isMoneyStep(match) && valuesOf(rawHeaders, "idempotency-key").length > 0

const noRoute = (match: Exclude<Match, { readonly _tag: "Found" }>): Response =>
  match._tag === "Unknown"
    ? errorResponse(new NotFound())
    : HttpServerResponse.setHeader(errorResponse(new MethodNotAllowed()), "allow", match.allow)

const internal = (requestId: string): Response => errorResponse(new InternalError({ request_id: requestId }))

/** A bug, a broken database or an interruption becomes `internal_error`; the cause appears only in the log. */
const failureResponse = (cause: Cause.Cause<unknown>, requestId: string): Effect.Effect<Response> => {
  const response = internal(requestId)
  if (Cause.hasInterruptsOnly(cause)) return Effect.succeed(response)
  return Effect.logError("the request broke", cause).pipe(Effect.annotateLogs({ request_id: requestId }), Effect.as(response))
}

/** Fails when the content type is not JSON, or when a browser sent the request from another origin. */
const acceptable = ({ method, rawHeaders }: RequestHead): Effect.Effect<void, ApiError> =>
  Effect.suspend(() => {
    const error = mediaType(method, rawHeaders) ?? origin(rawHeaders)
    return error === undefined ? Effect.void : Effect.fail(error)
  })

/** Refuses browsers on another origin: an `Origin` header must name the request's own host. */
const origin = (rawHeaders: ReadonlyArray<string>): CrossOriginDenied | undefined => {
  const origins = valuesOf(rawHeaders, "origin")
  if (origins.length === 0) return undefined
  const [host] = valuesOf(rawHeaders, "host")
  const own = host !== undefined && origins.every((sent) => isOwn(sent, host))
  return own ? undefined : new CrossOriginDenied()
}

const isOwn = (sent: string, host: string): boolean => {
  const scheme = /^https?:\/\//.exec(sent)?.[0]
  if (scheme === undefined) return false
  const [theirs, ours] = [URL.parse(sent), URL.parse(`${scheme}${host}`)]
  return theirs !== null && ours !== null && theirs.origin === ours.origin
}
