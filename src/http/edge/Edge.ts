import { ByteSize, Cause, Clock, Effect, identity, Option } from "effect"
import { HttpIncomingMessage, type HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { InternalError } from "../../domain/errors/Ambiguous.ts"
import { RateLimited } from "../../domain/errors/Retriable.ts"
import {
  CrossOriginDenied,
  MalformedRequest,
  MethodNotAllowed,
  NotFound,
  PayloadTooLarge,
  UnsupportedMediaType
} from "../../domain/errors/Terminal.ts"
import { endsWithin, makeTimer, timeoutWith } from "../../runtime/Timer.ts"
import { whereTooLate } from "../../runtime/TooLate.ts"
import { inSpan } from "../../runtime/Tracing.ts"
import { Authentication, type RawRequest } from "../../services/admission/Authentication.ts"
import { CommitsWaiting } from "../../services/ports/CommitsWaiting.ts"
import { RandomSource } from "../../services/ports/RandomSource.ts"
import { ProviderCallbacks } from "../../services/settlement/ProviderCallbacks.ts"
import { clientAddress, clientOf } from "./ClientAddress.ts"
import { makeConcurrencyLimit, type Release, type SlotKind } from "./ConcurrencyLimit.ts"
import { type Endpoints, isRead } from "./Endpoints.ts"
import { callbackOf, isCallbackPath, isSignedPath, type Match } from "./HttpRoutes.ts"
import { afterResponse } from "./NodeListener.ts"
import { type RequestHead, requestHeadOf } from "./RequestHead.ts"
import { callerTraceLinks, valuesOf } from "./RequestHeaders.ts"
import { kindOf, makeRequestRate, type RateSettings } from "./RequestRate.ts"
import { countResponse, makeRequestLog } from "./RequestTelemetry.ts"
import { errorResponse, withStandardHeaders } from "./Response.ts"
import { makeUnlessCommitsWait } from "./Standstill.ts"

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
 * 3. a signature that does not hold (401); then every signed request while commits wait for a standby (500), its nonce unspent
 * 4. a content type that is not JSON (the body itself is decoded by the endpoint), and a browser on another origin (415, 403)
 * 5. a caller that asks too often, or finds no free place (429)
 * 6. a path that does not exist, or that has another method (404, 405)
 *
 * A request under way when commits begin to wait for a standby is answered as ambiguous soon (500), and goes on.
 */
export const makeEdge = Effect.fnUntraced(function* (settings: RateSettings) {
  const authentication = yield* Authentication
  const randomSource = yield* RandomSource
  const ingress = yield* ProviderCallbacks
  const takePlace = makeConcurrencyLimit(settings.requestSlots)
  const rateOf = yield* makeRequestRate(settings)
  const timer = yield* makeTimer
  const [withTimeout, within] = [timeoutWith(timer), endsWithin(timer)]
  const logRequest = yield* makeRequestLog
  const commitsWaiting = yield* CommitsWaiting
  const unlessCommitsWait = yield* makeUnlessCommitsWait(timer)
  const addressOf = clientAddress(settings.trustedProxies)

  const serve = (endpoints: Endpoints) =>
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const startedAt = yield* Clock.currentTimeMillis
      const head = yield* requestHeadOf(request, randomSource)
      const { match, method, requestId } = head
      const route = match._tag === "Found" ? match.route.template : "unknown"
      const { response } = yield* respondAlways(request, head, endpoints).pipe(
        Effect.tap((outcome) => logRequest(startedAt, head, route, outcome)),
        // Its name and its attributes are those of the semantic conventions.
        inSpan(match._tag === "Found" ? `${method} ${route}` : method, {
          root: true,
          kind: "server",
          links: callerTraceLinks(head.rawHeaders),
          attributes: { "http.request.method": method, "gateway.request_id": requestId }
        })
      )
      yield* countResponse(startedAt, head, response)
      return withStandardHeaders(response, requestId)
    })

  /** Runs the checks and the endpoint, and makes a response of every error, defect and interruption. */
  const respondAlways = Effect.fnUntraced(function* (
    request: HttpServerRequest.HttpServerRequest,
    head: RequestHead,
    endpoints: Endpoints
  ) {
    const kept: Kept = { detached: null, release: null }
    return yield* Effect.interruptible(admit(request, head, endpoints, kept)).pipe(
      Effect.catchTag(
        "HttpServerError",
        () => new MalformedRequest({ issues: [{ path: "", message: "The body did not arrive." }] })
      ),
      Effect.catch((error) => Effect.succeed({ appId: "", response: errorResponse(error), isRefused: true })),
      Effect.catchCause((cause) =>
        Effect.map(afterFailure(cause, head.requestId, kept), (response) => ({ appId: "", response }))
      ),
      // Work that outlives its client keeps its place, and so does a response until it is read: both hold memory.
      Effect.ensuring(
        Effect.sync(() => {
          if (kept.release !== null) afterResponse(request, kept.release)
        })
      )
    )
  })

  /** The checks in their order, then the endpoint. A request that is refused before its signature held belongs to no tenant. */
  const admit = Effect.fnUntraced(function* (
    request: HttpServerRequest.HttpServerRequest,
    head: RequestHead,
    endpoints: Endpoints,
    kept: Kept
  ) {
    const { match, method, path, rawHeaders, rawTarget, requestId } = head
    const shed = (cause: Cause.Cause<never> = Cause.empty) => shedUnless(commitsWaiting, requestId, cause)
    const stray = strayCallback(head)
    const peer = Option.getOrElse(request.remoteAddress, () => "")
    const isSigned = isSignedPath(rawTarget, path)
    const isCallback = isCallbackPath(path) && stray === undefined
    // Taken and kept in one step: an interruption in between would lose the place for good.
    const holdPlace = (kind: SlotKind, holder: string) =>
      Effect.uninterruptible(
        Effect.map(takePlace(kind, holder), (release) => {
          kept.release = release
        })
      )
    const detach = (work: Effect.Effect<Response>) =>
      Effect.sync(() => {
        kept.detached = work
      })
    if (!isSigned && !isCallback) yield* holdPlace("unsigned", clientOf(addressOf(peer, valuesOf(rawHeaders, "x-forwarded-for"))))
    if (stray !== undefined) return { appId: "", response: stray }
    const limit = isCallbackPath(path) ? CALLBACK_BYTES : REQUEST_BYTES
    const body = isBodyless(method) ? NO_BODY : yield* bodyInTime(rawBody(request, limit))
    if (body === null) return { appId: "", response: lateBody }
    const signedWithinMs = (yield* commitsWaiting) ? STANDSTILL_ARRIVAL_MS : ARRIVAL_MS
    const isClaim = claimsKey(match, rawHeaders)
    const arriving = whereTooLate(authenticate({ method, rawTarget, rawHeaders, body }, isClaim), shed)
    const signed = isSigned ? yield* withTimeout(arriving, signedWithinMs, shed) : null
    const { caller, nonce } = signed ?? { caller: null, nonce: null }
    if (signed?.commitsWait === true) return { appId: signed.caller.appId, response: internal(requestId) }
    const rate = caller === null ? null : rateOf({ ...head, caller, peer })
    const answer = Effect.gen(function* () {
      // A callback may have any content type: it is verified over its bytes.
      const error = (isCallbackPath(path) ? undefined : mediaType(method, rawHeaders)) ?? origin(rawHeaders)
      if (error !== undefined) return errorResponse(error)
      if (rate !== null) yield* rate.take
      const callback = callbackOf(path)
      if (caller !== null) yield* holdPlace(kindOf(head), caller.appId)
      else if (callback !== undefined) yield* holdPlace("callbacks", `${callback.provider}/${callback.routeKey}`)
      if (match._tag !== "Found") return noRoute(match)
      return yield* endpoints(request, match, {
        requestId,
        rawHeaders,
        body,
        caller,
        nonce: isClaim ? nonce : null,
        arrivalMs: ARRIVAL_MS,
        detach
      })
    }).pipe(
      Effect.catch((error) => Effect.succeed(errorResponse(error))),
      // A tenant's read commits nothing, an admin's its audit row (`view=raw`); and a money step sees to it by itself.
      (isRead(method) && caller?.role !== "admin") || isMoneyStep(match)
        ? identity
        : unlessCommitsWait(requestId, () => internal(requestId))
    )
    if (nonce === null) return { appId: "", response: yield* answer }
    // Whatever a request is answered, its nonce was spent before; and what was sent a second time is refused for that alone.
    const exit = yield* Effect.exit(answer)
    if (!nonce.isSettled())
      yield* withTimeout(nonce.settle, ARRIVAL_MS, shed).pipe(
        Effect.tapErrorTag("unauthorized", () => rate?.giveBack ?? Effect.void)
      )
    return { appId: caller?.appId ?? "", response: yield* exit }
  })

  /** Null where it is late. It is read in a fiber of its own: interrupting the read would cut the connection, and the client would not learn why. */
  const bodyInTime = <E>(read: Effect.Effect<Uint8Array, E>) =>
    Effect.flatMap(Effect.forkChild(read, { startImmediately: true }), (reading) =>
      within(reading, BODY_MS, Effect.succeed(null))
    )

  /**
   * The caller of a request. A request that claims an idempotency key spends its nonce with the claim; the nonce of every other request is
   * spent here. While commits wait for a standby none is spent: the outcome of that commit would be unknown.
   */
  const authenticate = Effect.fnUntraced(function* (request: RawRequest, isClaim: boolean) {
    const { caller, nonce } = yield* authentication.authenticate(request)
    const commitsWait = yield* commitsWaiting
    if (!commitsWait && !isClaim) yield* nonce.settle
    return { caller, nonce, commitsWait }
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

/** The parts of a request that must survive its interruption: the end of work that goes on, and the request's place. */
interface Kept {
  detached: Effect.Effect<Response> | null
  release: Release | null
}

/** Whether `Idempotent` runs the operation. */
const isMoneyStep = (match: Match): boolean => match._tag === "Found" && match.route.operation?.idempotencyKey !== undefined
const claimsKey = (match: Match, rawHeaders: ReadonlyArray<string>): boolean =>
  isMoneyStep(match) && valuesOf(rawHeaders, "idempotency-key").length > 0

/** The whole body arrives in this time, however slowly it is sent; then the connection is closed. */
const BODY_MS = 30_000
const lateBody: Response = HttpServerResponse.setHeader(
  errorResponse(
    new MalformedRequest({ issues: [{ path: "", message: `The body did not arrive within ${BODY_MS / 1000} seconds.` }] })
  ),
  "connection",
  "close"
)

/** A caller does not wait longer for its signature to be checked. Nothing is begun yet, and so the request is shed. */
const ARRIVAL_MS = 5_000
/** The same while commits wait for a standby: the key of a signature may be read through a connection that hangs in one of them. */
const STANDSTILL_ARRIVAL_MS = 1_000
const SHED_RETRY_AFTER_SECONDS = 1

const shedUnless = Effect.fnUntraced(function* (waiting: Effect.Effect<boolean>, requestId: string, cause: Cause.Cause<never>) {
  if (yield* waiting) return yield* new InternalError({ request_id: requestId })
  yield* Effect.logWarning("request authentication timed out", cause)
  return yield* new RateLimited({ scope: "server", retry_after_seconds: SHED_RETRY_AFTER_SECONDS })
})

const noRoute = (match: Exclude<Match, { readonly _tag: "Found" }>): Response =>
  match._tag === "Unknown"
    ? errorResponse(new NotFound())
    : HttpServerResponse.setHeader(errorResponse(new MethodNotAllowed()), "allow", match.allow)

/** Work that was detached outlives a client that goes away and a server that stops: a client that still listens gets its response. */
const afterFailure = Effect.fnUntraced(function* (cause: Cause.Cause<unknown>, requestId: string, { detached }: Kept) {
  return yield* detached !== null && Cause.hasInterruptsOnly(cause) ? detached : failureResponse(cause, requestId)
})

const internal = (requestId: string): Response => errorResponse(new InternalError({ request_id: requestId }))

/** A bug, a broken database or an interruption is `internal_error`; its cause is in the log only. */
const failureResponse = (cause: Cause.Cause<unknown>, requestId: string): Effect.Effect<Response> => {
  const response = internal(requestId)
  if (Cause.hasInterruptsOnly(cause)) return Effect.succeed(response)
  return Effect.logError("the request broke", cause).pipe(Effect.annotateLogs({ request_id: requestId }), Effect.as(response))
}

const KIBIBYTE = 1024
export const REQUEST_BYTES = 64 * KIBIBYTE
const CALLBACK_BYTES = 256 * KIBIBYTE

const NO_BODY = new Uint8Array()
// A body that comes with one of these methods is read by the server and ignored (contract SIG-8).
const bodyless = new Set(["GET", "HEAD", "DELETE"])

/** Whether a request of this method has the body `NO_BODY`, whatever comes with it. */
const isBodyless = (method: string): boolean => bodyless.has(method)

/** Reads the raw body, at most `limit` bytes. A larger one is refused by its declared length, or at the first byte too many. */
const rawBody = (
  request: HttpServerRequest.HttpServerRequest,
  limit: number
): Effect.Effect<Uint8Array, PayloadTooLarge | HttpServerError.HttpServerError> => {
  const tooLarge = Effect.suspend(() => Effect.fail(new PayloadTooLarge({ maximum_bytes: limit })))
  if (Number(request.headers["content-length"] ?? 0) > limit) return tooLarge
  return request.arrayBuffer.pipe(
    Effect.map((buffer) => new Uint8Array(buffer)),
    Effect.catchIf(isTooLarge, () => tooLarge),
    Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(limit))
  )
}

const isTooLarge = (error: HttpServerError.HttpServerError): boolean =>
  error.reason._tag === "RequestParseError" && error.reason.reason === "BodyTooLarge"

/** Some clients end the list of parameters with a semicolon, or send it empty. */
const JSON_TYPE = /^application\/json(?:[ \t]*;[ \t]*charset=(?:utf-8|"utf-8"))?(?:[ \t]*;)?[ \t]*$/i

/** Refuses a body that is not uncompressed JSON by its headers. A body without a content type is read as JSON. */
const mediaType = (method: string, rawHeaders: ReadonlyArray<string>): UnsupportedMediaType | undefined => {
  if (isBodyless(method)) return undefined
  const isJson = valuesOf(rawHeaders, "content-type").every((type) => JSON_TYPE.test(type))
  const isPlain = valuesOf(rawHeaders, "content-encoding").every((encoding) => encoding.toLowerCase() === "identity")
  return isJson && isPlain ? undefined : new UnsupportedMediaType()
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
