import { Cause, Clock, Effect, Option } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { foundNone } from "../../domain/Candidates.ts"
import { InternalError } from "../../domain/errors/Ambiguous.ts"
import type { ApiError } from "../../domain/errors/ApiError.ts"
import { CrossOriginDenied, MethodNotAllowed, NotFound } from "../../domain/errors/Terminal.ts"
import { emptyTrail, RouteTrail } from "../../runtime/RouteTrail.ts"
import { interruptedAfter, makeTimer } from "../../runtime/Timer.ts"
import { whereTooLate } from "../../runtime/TooLate.ts"
import { inSpan } from "../../runtime/Tracing.ts"
import { UnroutedPayments } from "../../runtime/UnroutedPayments.ts"
import { Authentication, type RawRequest } from "../../services/admission/Authentication.ts"
import { CommitsWaiting } from "../../services/ports/CommitsWaiting.ts"
import { RandomSource } from "../../services/ports/RandomSource.ts"
import { ProviderCallbacks } from "../../services/settlement/ProviderCallbacks.ts"
import { clientAddress, clientOf } from "./ClientAddress.ts"
import { makeConcurrencyLimit, type Release, type SlotKind } from "./ConcurrencyLimit.ts"
import { ARRIVAL_MS, ARRIVAL_WHILE_COMMITS_WAIT_MS, makeWriteInTime, shed } from "./Deadlines.ts"
import { type Endpoints, isRead } from "./Endpoints.ts"
import { callbackOf, isCallbackPath, isSignedPath, type Match } from "./HttpRoutes.ts"
import { afterResponse } from "./NodeListener.ts"
import { bodyReader, CALLBACK_BYTES, isBodyless, lateBody, mediaType, NO_BODY, REQUEST_BYTES } from "./RequestBody.ts"
import { type RequestHead, requestHeadOf } from "./RequestHead.ts"
import { callerTraceLinks, valuesOf } from "./RequestHeaders.ts"
import { kindOf, makeRequestRate, type RateSettings } from "./RequestRate.ts"
import { countCandidates, countResponse, makeRequestLog } from "./RequestTelemetry.ts"
import { errorResponse, withStandardHeaders } from "./Response.ts"

type Response = HttpServerResponse.HttpServerResponse

/**
 * Everything between the socket and an endpoint.
 *
 * Takes every request that the HTTP parser let through. Gives exactly one response, whatever happens: that of the endpoint, or the
 * envelope of an error. Each request has one span and one line in the log; a flood of unsigned ones is counted instead. Refuses in the
 * contract's order:
 *
 * 1. an unsigned request that finds no free place (429), and a callback to an address that does not exist (403, 404, 405)
 * 2. a body that is too large or does not arrive (413, 400)
 * 3. a signature that does not hold (401), or that cannot be checked in time (429); then every signed request while commits wait for a
 *    standby (500), its nonce unspent
 * 4. a content type that is not JSON (the body itself is decoded by the endpoint), and a browser on another origin (415, 403)
 * 5. a caller that asks too often, or finds no free place (429)
 * 6. a path that does not exist, or that has another method (404, 405)
 *
 * A request under way when commits begin to wait for a standby is answered as ambiguous soon (500), and goes on. Nothing of a request is
 * interrupted but the check of its signature and a tenant's read.
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
      const { appId, response } = yield* respondAlways(request, head, endpoints).pipe(
        Effect.tap((outcome) => logRequest(startedAt, head, route, outcome)),
        Effect.provideService(RouteTrail, trail),
        // Its name and its attributes are those of the semantic conventions.
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

  /** Runs the checks and the endpoint, and makes a response of every error, defect and interruption. */
  const respondAlways = Effect.fnUntraced(function* (
    request: HttpServerRequest.HttpServerRequest,
    head: RequestHead,
    endpoints: Endpoints
  ) {
    const held: HeldPlace = { release: null }
    return yield* respond(request, head, endpoints, held).pipe(
      Effect.catch((error) => Effect.succeed({ appId: "", response: errorResponse(error), isRefused: true })),
      Effect.catchCause((cause) => Effect.map(failureResponse(cause, head.requestId), (response) => ({ appId: "", response }))),
      // Work that outlives its client keeps its place, and so does a response until it is read: both hold memory. Work that outlives its own
      // answer gives its place up.
      Effect.ensuring(
        Effect.sync(() => {
          if (held.release !== null) afterResponse(request, held.release)
        })
      )
    )
  })

  /** The checks in their order, then the endpoint. A request that is refused before its signature held belongs to no tenant. */
  const respond = Effect.fnUntraced(function* (
    request: HttpServerRequest.HttpServerRequest,
    head: RequestHead,
    endpoints: Endpoints,
    held: HeldPlace
  ) {
    const { match, method, path, rawHeaders, rawTarget, requestId } = head
    const stray = strayCallback(head)
    const peer = Option.getOrElse(request.remoteAddress, () => "")
    const from = () => addressOf(peer, valuesOf(rawHeaders, "x-forwarded-for"))
    const isSigned = isSignedPath(rawTarget, path)
    const isCallback = isCallbackPath(path) && stray === undefined
    const holdPlace = (kind: SlotKind, holder: string) =>
      Effect.map(takePlace(kind, holder), (release) => {
        held.release = release
      })
    if (!isSigned && !isCallback) yield* holdPlace("unsigned", clientOf(from()))
    if (stray !== undefined) return { appId: "", response: stray }
    const limit = isCallbackPath(path) ? CALLBACK_BYTES : REQUEST_BYTES
    const body = isBodyless(method) ? NO_BODY : yield* readBody(request, limit)
    if (body === null) return { appId: "", response: lateBody }
    const isClaim = claimsKey(match, rawHeaders)
    const signed = isSigned
      ? yield* authenticate({ method, rawTarget, rawHeaders, body, clientAddress: from }, isClaim, requestId)
      : null
    const { caller, nonce } = signed ?? { caller: null, nonce: null }
    if (signed?.commitsWait === true) return { appId: signed.caller.appId, response: internal(requestId) }
    const rate = caller === null ? null : rateOf({ ...head, caller, peer, body })
    const answer = Effect.gen(function* () {
      // A callback may have any content type: it is verified over its bytes.
      const error = (isCallbackPath(path) ? undefined : mediaType(method, rawHeaders)) ?? origin(rawHeaders)
      if (error !== undefined) return errorResponse(error)
      if (rate !== null) yield* rate.take
      const callback = callbackOf(path)
      if (caller !== null) yield* holdPlace(kindOf(head), caller.appId)
      else if (callback !== undefined) yield* holdPlace("callbacks", `${callback.provider}/${callback.routeKey}`)
      if (match._tag !== "Found") return noRoute(match)
      const run = endpoints(request, match, {
        requestId,
        rawHeaders,
        body,
        caller,
        nonce: isClaim ? nonce : null,
        claimWithinMs: ARRIVAL_MS
      })
      // A money step keeps its own time.
      if (isMoneyStep(match)) return yield* run
      // A tenant's read commits nothing, and ends where its client goes; an admin's commits its audit row (`view=raw`).
      if (isRead(method) && caller?.role !== "admin") return yield* Effect.interruptible(run)
      return yield* writeInTime(withErrors(run), requestId, () => internal(requestId))
    })
    if (nonce === null) {
      const provider = isCallback ? callbackOf(path)?.provider : undefined
      return { appId: "", response: yield* withErrors(answer), ...(provider === undefined ? {} : { provider }) }
    }
    // Whatever a request is answered, its nonce was spent before, or is in the commit of its claim; and what was sent a second time is refused
    // for that alone.
    const exit = yield* Effect.exit(withErrors(answer))
    if (!nonce.isSettled())
      yield* inTime(nonce.settle, ARRIVAL_MS, tooLate(requestId)).pipe(
        Effect.tapErrorTag("unauthorized", () => rate?.giveBack ?? Effect.void)
      )
    return { appId: caller?.appId ?? "", response: yield* exit }
  })

  /**
   * The caller of a request, within the time of arrivals. A request that claims an idempotency key spends its nonce with the claim; the nonce
   * of every other request is spent here. While commits wait for a standby none is spent: the outcome of that commit would be unknown.
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

  /** Nothing is begun for the request yet, and so it is shed. */
  const tooLate = Effect.fnUntraced(function* (requestId: string, cause: Cause.Cause<never> = Cause.empty) {
    if (!(yield* commitsWaiting)) yield* Effect.logWarning("request authentication timed out", cause)
    return yield* shed(requestId)
  })

  /** The response to an unexpected callback. It is given before a byte of the body is read. */
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

/** The place that a request holds, once it has one. */
interface HeldPlace {
  release: Release | null
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

/** A bug, a broken database or an interruption is `internal_error`; its cause is in the log only. */
const failureResponse = (cause: Cause.Cause<unknown>, requestId: string): Effect.Effect<Response> => {
  const response = internal(requestId)
  if (Cause.hasInterruptsOnly(cause)) return Effect.succeed(response)
  return Effect.logError("the request broke", cause).pipe(Effect.annotateLogs({ request_id: requestId }), Effect.as(response))
}

/** Refuses a browser on another origin: an `Origin` must be the request's own host. */
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
