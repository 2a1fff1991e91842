import { Effect, Option, Redacted, Result } from "effect"
import { deliveryView } from "../../domain/Delivery.ts"
import { defaultSubscription } from "../../domain/Event.ts"
import { instantOf, iso, isoOrNull } from "../../domain/Instant.ts"
import { RawJson } from "../../domain/Json.ts"
import type { Caller } from "../../domain/Tenant.ts"
import {
  DEFAULT_ENDPOINT,
  type EndpointName,
  endpointView,
  namedEndpointView,
  type WebhookEndpoint
} from "../../domain/WebhookEndpoint.ts"
import { type EndpointCommand, type RecoverCommand, Webhooks } from "../../services/webhooks/Webhooks.ts"
import { eventRequest } from "../api/EventQuery.ts"
import { cursorOf, DEFAULT_PAGE, positionOf } from "../api/Page.ts"
import { withCaller } from "../api/SignedRequest.ts"
import { EndpointBody, RecoverBody } from "../api/Webhooks.ts"
import { type Body, type BodyError, invalid, makeDecoder } from "../body/Body.ts"
import { withSignedBody } from "../body/SignedBody.ts"
import { handlersOf } from "../edge/Endpoints.ts"
import { respond, respondEach } from "../edge/Response.ts"
import type { JsonTree } from "../json/StrictJson.ts"

export const webhooksHandlers = Effect.gen(function* () {
  const webhooks = yield* Webhooks
  return handlersOf("webhooks", {
    endpoint: () => ofDefault(webhooks.endpoint).pipe(Effect.map(endpointView), respond(200)),
    setEndpoint: () =>
      withSignedBody(endpointBody, (caller, command) =>
        Effect.map(webhooks.setEndpoint(caller, DEFAULT_ENDPOINT, command), setView(endpointView))
      ),
    removeEndpoint: () => ofDefault(webhooks.removeEndpoint).pipe(Effect.map(endpointView), respond(200)),
    rotateSecret: () => ofDefault(webhooks.rotateSecret).pipe(Effect.map(rotatedView), respond(200)),
    test: () => ofDefault(webhooks.test).pipe(Effect.map(deliveryView), respond(200)),
    namedEndpoints: () => withCaller(webhooks.endpoints).pipe(respondEach(namedEndpointView)),
    namedEndpoint: ({ params }) => ofNamed(params, webhooks.endpoint).pipe(Effect.map(namedEndpointView), respond(200)),
    setNamedEndpoint: ({ params }) =>
      withSignedBody(endpointBody, (caller, command) =>
        Effect.map(webhooks.setEndpoint(caller, params.name, command), setView(namedEndpointView))
      ),
    removeNamedEndpoint: ({ params }) =>
      ofNamed(params, webhooks.removeEndpoint).pipe(Effect.map(namedEndpointView), respond(200)),
    rotateNamedSecret: ({ params }) => ofNamed(params, webhooks.rotateSecret).pipe(Effect.map(rotatedView), respond(200)),
    testNamed: ({ params }) => ofNamed(params, webhooks.test).pipe(Effect.map(deliveryView), respond(200)),
    deliveries: ({ query: { cursor, endpoint = null, limit = DEFAULT_PAGE, status = null } }) =>
      withCaller((caller) =>
        Effect.flatMap(positionOf(cursor), (from) => {
          const after = from === null ? null : { at: from.createdAt, id: from.id }
          return webhooks.deliveries(caller, { endpoint, status, limit, after })
        })
      ).pipe(
        Effect.map(({ items, next }) => ({
          items: items.map(deliveryView),
          next_cursor: next === null ? null : cursorOf({ createdAt: next.at, id: next.id })
        })),
        respond(200)
      ),
    events: ({ query }) =>
      withCaller((caller) =>
        Effect.gen(function* () {
          const { filter, page } = yield* eventRequest(query)
          return eventsView(yield* webhooks.events(caller, filter, page))
        })
      ).pipe(respond(200)),
    redeliver: ({ params }) =>
      withCaller((caller) => webhooks.redeliver(caller, params.id)).pipe(Effect.map(deliveryView), respond(200)),
    recover: () => withSignedBody(recoverBody, (caller, command) => Effect.map(webhooks.recover(caller, command), recoveryView))
  })
})

type ResultOf<K extends keyof Webhooks["Service"]> = Effect.Success<ReturnType<Webhooks["Service"][K]>>

const setView =
  <View extends object>(view: (endpoint: WebhookEndpoint) => View) =>
  ({ endpoint, secret }: ResultOf<"setEndpoint">) => ({
    ...view(endpoint),
    ...(secret === null ? {} : { secret: Redacted.value(secret) })
  })

/** Calls the service for the endpoint named `default`, the only one that every release knows. */
const ofDefault = <A, E>(call: (caller: Caller, name: EndpointName) => Effect.Effect<A, E>) =>
  withCaller((caller) => call(caller, DEFAULT_ENDPOINT))

/** Calls the service for the endpoint named in the path. */
const ofNamed = <A, E>(
  { name }: { readonly name: EndpointName },
  call: (caller: Caller, name: EndpointName) => Effect.Effect<A, E>
) => withCaller((caller) => call(caller, name))

const rotatedView = ({ previousUntil, secret }: ResultOf<"rotateSecret">) => ({
  secret: Redacted.value(secret),
  previous_secret_until: iso(previousUntil)
})

/** The bytes of an event are those that were stored. */
const eventsView = ({ items, next }: ResultOf<"events">) => ({
  items: items.map(({ body }) => new RawJson(body)),
  next_cursor: next === null ? null : cursorOf({ createdAt: next.at, id: next.id })
})

const recoveryView = ({ deliveries, resumeAt }: ResultOf<"recover">) => ({
  deliveries,
  resume_since: isoOrNull(resumeAt)
})

const NO_MOMENT = "must be a moment in UTC such as 2026-01-31T12:00:00.000Z"

const decodeEndpoint = makeDecoder(EndpointBody)
const decodeRecover = makeDecoder(RecoverBody)

/** The body of `PUT /v1/webhooks/endpoint`. */
export const endpointBody = (body: JsonTree): Result.Result<Body<EndpointCommand>, BodyError> =>
  Result.map(decodeEndpoint(body), ({ ignored, wire }) => {
    const command = { url: wire.url, events: wire.events ?? defaultSubscription, enabled: wire.enabled ?? true }
    return { command, fingerprint: command, ignored }
  })

/** The body of `POST /v1/webhooks/recover`. */
export const recoverBody = (body: JsonTree): Result.Result<Body<RecoverCommand>, BodyError> =>
  Result.gen(function* () {
    const { ignored, wire } = yield* decodeRecover(body)
    const since = instantOf(wire.since)
    const until = wire.until === undefined ? Option.some(null) : instantOf(wire.until)
    if (Option.isNone(since) || Option.isNone(until)) {
      const named = Object.entries({ since, until }).filter(([, moment]) => Option.isNone(moment))
      return yield* invalid(named.map(([path]) => ({ path, message: NO_MOMENT })))
    }
    const endpoint = wire.endpoint ?? DEFAULT_ENDPOINT
    const command = { endpoint, since: since.value, until: until.value, types: wire.types ?? null }
    return { command, fingerprint: command, ignored }
  })
