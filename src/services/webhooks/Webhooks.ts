import { Clock, Context, Effect, Option, Redacted } from "effect"
import type { Delivery } from "../../domain/Delivery.ts"
import { type EventType, encodeEvent } from "../../domain/Event.ts"
import type { RateLimited } from "../../domain/errors/Retriable.ts"
import { invalid, NotFound, type ValidationFailed } from "../../domain/errors/Terminal.ts"
import { isReference } from "../../domain/Ids.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import { SECRET_BYTES, webhookSecretFrom } from "../../domain/StandardWebhook.ts"
import type { Caller } from "../../domain/Tenant.ts"
import {
  DEFAULT_ENDPOINT,
  ENDPOINTS_AT_MOST,
  type EndpointName,
  ROTATION_MS,
  type WebhookEndpoint
} from "../../domain/WebhookEndpoint.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { type TenantChange, tenantChange } from "../ports/AuditLog.ts"
import type { PageAfter } from "../ports/Page.ts"
import { Policy } from "../ports/Policy.ts"
import { RandomSource } from "../ports/RandomSource.ts"
import {
  type DeliveryCursor,
  type DeliveryQuery,
  type EventFilter,
  type EventPage,
  WebhookDeliveries
} from "../ports/WebhookDeliveries.ts"
import { WebhookEndpoints } from "../ports/WebhookEndpoints.ts"
import { endpointUrlProblem } from "./EndpointAddress.ts"
import { WebhookDispatcher } from "./WebhookDispatcher.ts"
import { EVENTS_KEPT_MS, makeRecovery, type Recovered } from "./WebhookRecovery.ts"

export type EndpointCommand = Pick<WebhookEndpoint, "url" | "events" | "enabled">

export interface RecoverCommand {
  readonly endpoint: EndpointName
  readonly since: Instant
  /** Only events created before this time; null: all until now. */
  readonly until: Instant | null
  /** Only events of these types; null: all that the endpoint is subscribed to. */
  readonly types: ReadonlyArray<EventType> | null
}

/** A tenant's webhook endpoints, their deliveries, redelivery and recovery (contract HOOK-19 to HOOK-30). Needs no grant. */
export class Webhooks extends Context.Service<
  Webhooks,
  {
    readonly endpoint: (caller: Caller, name: EndpointName) => Effect.Effect<WebhookEndpoint, NotFound>
    /** All endpoints, `default` first. */
    readonly endpoints: (caller: Caller) => Effect.Effect<ReadonlyArray<WebhookEndpoint>>
    /** The secret is returned only when this call created the endpoint. */
    readonly setEndpoint: (
      caller: Caller,
      name: EndpointName,
      command: EndpointCommand
    ) => Effect.Effect<{ readonly endpoint: WebhookEndpoint; readonly secret: Redacted.Redacted | null }, ValidationFailed>
    readonly removeEndpoint: (caller: Caller, name: EndpointName) => Effect.Effect<WebhookEndpoint, NotFound>
    /** The new secret, which is shown only now, and until when the old one also signs. */
    readonly rotateSecret: (
      caller: Caller,
      name: EndpointName
    ) => Effect.Effect<{ readonly secret: Redacted.Redacted; readonly previousUntil: Instant }, NotFound>
    /** Sends a `webhook.test` event, whatever the endpoint is subscribed to. */
    readonly test: (caller: Caller, name: EndpointName) => Effect.Effect<Delivery, NotFound | ValidationFailed>
    readonly deliveries: (
      caller: Caller,
      query: Omit<DeliveryQuery, "appId" | "mode">
    ) => Effect.Effect<{ readonly items: ReadonlyArray<Delivery>; readonly next: DeliveryCursor | null }, RateLimited>
    /** Any text is a valid id. The same bytes are sent with the same id. */
    readonly redeliver: (caller: Caller, id: string) => Effect.Effect<Delivery, NotFound | ValidationFailed>
    /** The tenant's events, oldest first, whether or not an endpoint was subscribed to them. */
    readonly events: (
      caller: Caller,
      filter: EventFilter,
      page: PageAfter<DeliveryCursor>
    ) => Effect.Effect<EventPage, RateLimited>
    readonly recover: (caller: Caller, command: RecoverCommand) => Effect.Effect<Recovered, NotFound | ValidationFailed>
  }
>()("gateway/services/Webhooks") {
  static readonly layer = layerOf(Webhooks)(function* () {
    const endpoints = yield* WebhookEndpoints
    const outgoing = yield* WebhookDeliveries
    const dispatcher = yield* WebhookDispatcher
    const randomSource = yield* RandomSource
    const { webhookAllowLoopback } = yield* Policy

    const recovery = yield* makeRecovery(dispatcher.nudge)
    const newSecret = Effect.map(randomSource.secret(SECRET_BYTES), (bytes) => Redacted.make(webhookSecretFrom(bytes)))

    const endpoint = Effect.fn("Webhooks.endpoint")(function* ({ appId, mode }: Caller, name: EndpointName) {
      return yield* present(yield* endpoints.find({ appId, mode, name }))
    })

    /** Fails when the endpoint is absent or disabled, because nothing can be sent to it. */
    const reachable = Effect.fnUntraced(function* ({ appId, mode }: Caller, name: EndpointName) {
      const standing = yield* present(yield* endpoints.find({ appId, mode, name }))
      if (!standing.enabled) return yield* invalid("", DISABLED)
    })

    const events = ({ appId, mode }: Caller, ...[filter, page]: [EventFilter, Parameters<typeof outgoing.events>[2]]) =>
      outgoing.events({ appId, mode }, filter, page)

    return {
      endpoint,
      events,

      endpoints: Effect.fn("Webhooks.endpoints")(({ appId, mode }) => endpoints.list(appId, mode)),

      setEndpoint: Effect.fn("Webhooks.setEndpoint")(function* (caller, name, command) {
        const { appId, mode } = caller
        const problem = endpointUrlProblem(command.url, webhookAllowLoopback)
        if (problem !== undefined) return yield* invalid("url", problem)
        const at = yield* Clock.currentTimeMillis
        const secret = yield* newSecret
        const details = { url: command.url, events: command.events.join(","), enabled: String(command.enabled) }
        const change = tenantChange(caller, at, "webhook endpoint", { ...named(name), ...details })
        const put = yield* endpoints.put({ appId, mode, name, ...command, secret, rotatesUntil: null, at, change })
        if (Option.isNone(put)) return yield* invalid("name", TOO_MANY)
        yield* dispatcher.nudge
        return { endpoint: put.value.endpoint, secret: put.value.created ? secret : null }
      }),

      removeEndpoint: Effect.fn("Webhooks.removeEndpoint")(function* (caller, name) {
        const { appId, mode } = caller
        const change = tenantChange(caller, yield* Clock.currentTimeMillis, "webhook endpoint remove", named(name))
        return yield* present(yield* endpoints.remove({ appId, mode, name }, change))
      }),

      rotateSecret: Effect.fn("Webhooks.rotateSecret")(function* (caller, name) {
        const { appId, mode } = caller
        const at = yield* Clock.currentTimeMillis
        const secret = yield* newSecret
        const previousUntil = at + ROTATION_MS
        const change = tenantChange(caller, at, "webhook rotate-secret", named(name))
        const rotated = yield* endpoints.rotate({ appId, mode, name, secret, until: previousUntil, at, change })
        if (!rotated) return yield* new NotFound()
        return { secret, previousUntil }
      }),

      test: Effect.fn("Webhooks.test")(function* (caller, name) {
        yield* reachable(caller, name)
        const { appId, mode } = caller
        const id = yield* randomSource.reference
        const at = yield* Clock.currentTimeMillis
        const head = { id, appId, mode, type: "webhook.test", reference: null, at } as const
        const event = encodeEvent(head, { message: "This event is a test.", metadata: {} })
        const delivery = yield* outgoing.deliver(event, name)
        yield* dispatcher.nudge
        return yield* present(yield* outgoing.find(appId, mode, delivery))
      }),

      deliveries: Effect.fn("Webhooks.deliveries")(({ appId, mode }, query) => outgoing.list({ appId, mode, ...query })),

      redeliver: Effect.fn("Webhooks.redeliver")(function* (caller, id) {
        const { appId, mode } = caller
        if (!isReference(id)) return yield* new NotFound()
        const { endpoint } = yield* present(yield* outgoing.find(appId, mode, id))
        yield* reachable(caller, endpoint)
        const at = yield* Clock.currentTimeMillis
        const change = tenantChange(caller, at, "webhook redeliver", { delivery: id })
        if (!(yield* outgoing.redeliver({ appId, mode, endpoint, id, at, change }))) return yield* new NotFound()
        yield* dispatcher.nudge
        return yield* present(yield* outgoing.find(appId, mode, id))
      }),

      recover: Effect.fn("Webhooks.recover")(function* (caller, command) {
        const { endpoint, since, types, until } = command
        const { appId, mode } = caller
        const now = yield* Clock.currentTimeMillis
        const problem = since > now ? FUTURE : since < now - EVENTS_KEPT_MS ? TOO_OLD : undefined
        if (problem !== undefined) return yield* invalid("since", problem)
        if (until !== null && until <= since) return yield* invalid("until", NOT_LATER)
        yield* reachable(caller, endpoint)
        const change = tenantChange(caller, now, "webhook recover", {
          ...named(endpoint),
          since: iso(since),
          ...(until === null ? {} : { until: iso(until) }),
          ...(types === null ? {} : { types: types.join(",") })
        })
        const only = { ...(until === null ? {} : { before: until }), ...(types === null ? {} : { types }) }
        return yield* recovery({ appId, mode, endpoint, since, until: now, change, ...only })
      })
    }
  })
}

/** As the stream of changes names an endpoint. `default`, which every release knows, is not named. */
const named = (name: EndpointName): TenantChange["details"] => (name === DEFAULT_ENDPOINT ? {} : { endpoint: name })

const TOO_MANY = `there are at most ${ENDPOINTS_AT_MOST} endpoints of a mode, of which ${DEFAULT_ENDPOINT} is one: remove another first`
const DISABLED = "The endpoint is disabled: enable it first"
const FUTURE = "must be a moment that has passed"
const NOT_LATER = "must be later than since"
const TOO_OLD = "must be a moment at most 30 days ago"

const present = <A>(found: Option.Option<A>): Effect.Effect<A, NotFound> =>
  Option.match(found, { onNone: () => new NotFound(), onSome: (value) => Effect.succeed(value) })
