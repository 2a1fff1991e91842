import { Clock, Effect, Option, Redacted } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { DeliveryStatus, deliveryView } from "../domain/Delivery.ts"
import { defaultSubscription } from "../domain/Event.ts"
import { isReference } from "../domain/Ids.ts"
import { instantOf, iso, isoOrNull } from "../domain/Instant.ts"
import { SECRET_BYTES, webhookSecretFrom } from "../domain/StandardWebhook.ts"
import { DEFAULT_ENDPOINT, ENDPOINTS_AT_MOST, EndpointName, ROTATION_MS } from "../domain/WebhookEndpoint.ts"
import { Policy } from "../services/ports/Policy.ts"
import { RandomSource } from "../services/ports/RandomSource.ts"
import { Tenants } from "../services/ports/Tenants.ts"
import { WebhookDeliveries } from "../services/ports/WebhookDeliveries.ts"
import { type EndpointId, WebhookEndpoints } from "../services/ports/WebhookEndpoints.ts"
import { endpointUrlProblem } from "../services/webhooks/EndpointAddress.ts"
import { EVENTS_KEPT_MS, makeRecovery } from "../services/webhooks/WebhookRecovery.ts"
import { appId, choice, flag, help, mode } from "./Arguments.ts"
import { CommandRefusal, noTenant } from "./CommandRefusal.ts"
import { operatorPorts } from "./Installation.ts"
import { auditEntry } from "./Operator.ts"
import { printResult } from "./Output.ts"

const SHOWN = 200

const name = (description: string) => flag("endpoint", EndpointName, description)
const endpointName = name("the tenant's endpoint; `default` if left out").pipe(Flag.withDefault(DEFAULT_ENDPOINT))

const endpoint = Command.make(
  "endpoint",
  {
    appId,
    mode,
    name: endpointName,
    url: Flag.String("url").pipe(Flag.withDescription("where the tenant wants its events"))
  },
  Effect.fn(function* ({ url, ...id }) {
    yield* printResult(yield* setEndpoint(id, url))
  }, Effect.provide(operatorPorts))
).pipe(
  help(
    "Set where a tenant's events go, with a new secret that is shown only once; the old one still signs for 24 h",
    ["gateway webhook endpoint shop --mode live --url https://shop.example/events", "Set an endpoint and print its secret"],
    [
      "gateway webhook endpoint shop --mode live --endpoint erp --url https://erp.example/events",
      "Set one beside it, by the name of erp"
    ]
  )
)

const deliveries = Command.make(
  "deliveries",
  {
    appId,
    mode,
    endpoint: name("only those to this endpoint").pipe(Flag.optional),
    status: choice("status", DeliveryStatus.literals, "only these").pipe(Flag.optional)
  },
  Effect.fn(function* ({ appId, endpoint, mode, status }) {
    const outgoing = yield* WebhookDeliveries
    const tenants = yield* Tenants
    if (Option.isNone(yield* tenants.find(appId))) return yield* noTenant(appId)
    const wanted = { endpoint: Option.getOrNull(endpoint), status: Option.getOrNull(status) }
    const { items } = yield* outgoing.list({ appId, mode, ...wanted, limit: SHOWN, after: null })
    yield* printResult(items.map(deliveryView))
  }, Effect.provide(operatorPorts))
).pipe(
  help(`A tenant's newest ${SHOWN} deliveries with their attempts`, [
    "gateway webhook deliveries shop --mode live --status parked",
    "List what the endpoint never took"
  ])
)

const redeliver = Command.make(
  "redeliver",
  { id: Argument.String("DELIVERY_ID").pipe(Argument.withDescription("the delivery, as `webhook deliveries` prints it")) },
  Effect.fn(function* ({ id }) {
    yield* printResult(deliveryView(yield* redeliverById(id)))
  }, Effect.provide(operatorPorts))
).pipe(
  help("Send one event again: the same bytes under the same id. Its endpoint has to be enabled", [
    "gateway webhook redeliver AAA688MG9KT6BQ76F4NM4BJRH5",
    "Send one event again"
  ])
)

const recover = Command.make(
  "recover",
  {
    appId,
    mode,
    name: endpointName,
    since: Flag.String("since").pipe(Flag.withDescription("as 2026-01-31T12:00:00.000Z, at most 30 days ago"))
  },
  Effect.fn(function* ({ since, ...id }) {
    yield* printResult(yield* recoverSince(id, since))
  }, Effect.provide(operatorPorts))
).pipe(
  help(
    "Send every event since then again to one endpoint, as its tenant could: the same bytes under the same ids. The endpoint has to be enabled",
    ["gateway webhook recover shop --mode live --since 2026-01-31T12:00:00.000Z", "Send again what an outage lost"]
  )
)

export const webhook = Command.make("webhook").pipe(
  help("Webhooks to tenants"),
  Command.withSubcommands([endpoint, deliveries, redeliver, recover])
)

const setEndpoint = Effect.fn("setEndpoint")(function* (id: EndpointId, url: string) {
  const { appId, mode } = id
  const { webhookAllowLoopback } = yield* Policy
  const tenants = yield* Tenants
  const endpoints = yield* WebhookEndpoints
  const randomSource = yield* RandomSource
  const problem = endpointUrlProblem(url, webhookAllowLoopback)
  if (problem !== undefined) return yield* new CommandRefusal(`${url}: ${problem}`)
  if (Option.isNone(yield* tenants.find(appId))) return yield* noTenant(appId)
  const standing = yield* endpoints.find(id)
  const events = Option.match(standing, { onNone: () => defaultSubscription, onSome: (found) => found.events })
  const secret = webhookSecretFrom(yield* randomSource.secret(SECRET_BYTES))
  const at = yield* Clock.currentTimeMillis
  const change = yield* auditEntry("webhook endpoint", appId, { ...namesOf(id), url })
  const put = {
    ...id,
    url,
    events,
    enabled: true,
    secret: Redacted.make(secret),
    rotatesUntil: at + ROTATION_MS,
    at,
    change
  }
  if (Option.isNone(yield* endpoints.put(put)))
    return yield* new CommandRefusal(
      `the tenant ${appId} has ${ENDPOINTS_AT_MOST} endpoints in ${mode} mode, ${DEFAULT_ENDPOINT} counted: it has to remove one first`
    )
  return { url, secret }
})

const redeliverById = Effect.fn("redeliverById")(function* (id: string) {
  const outgoing = yield* WebhookDeliveries
  const unknown = new CommandRefusal(`there is no delivery ${id}: gateway webhook deliveries lists them`)
  const owner = isReference(id) ? yield* outgoing.owner(id) : Option.none()
  if (!isReference(id) || Option.isNone(owner)) return yield* unknown
  const { appId, mode, name: endpoint } = owner.value
  yield* enabledEndpoint(owner.value)
  const entry = yield* auditEntry("webhook redeliver", appId, { ...namesOf(owner.value), delivery: id })
  if (!(yield* outgoing.redeliver({ appId, mode, endpoint, id, at: entry.at, change: entry }))) return yield* unknown
  return yield* Effect.flatMap(outgoing.find(appId, mode, id), (found) =>
    Option.isNone(found) ? unknown : Effect.succeed(found.value)
  )
})

const enabledEndpoint = Effect.fn("enabledEndpoint")(function* (id: EndpointId) {
  const endpoints = yield* WebhookEndpoints
  const standing = yield* endpoints.find(id)
  if (!Option.exists(standing, ({ enabled }) => enabled))
    return yield* new CommandRefusal(
      `the tenant ${id.appId} has no enabled endpoint ${id.name} in ${id.mode} mode: set one with gateway webhook endpoint`
    )
})

/** How the audit log names an endpoint: the one that every release knows needs no name. */
const namesOf = ({ mode, name }: EndpointId): Readonly<Record<string, string>> =>
  name === DEFAULT_ENDPOINT ? { mode } : { mode, endpoint: name }

const recoverSince = Effect.fn("recoverSince")(function* (id: EndpointId, text: string) {
  const { appId, mode, name: endpoint } = id
  const since = Option.getOrUndefined(instantOf(text))
  const until = yield* Clock.currentTimeMillis
  if (since === undefined || since > until || since < until - EVENTS_KEPT_MS)
    return yield* new CommandRefusal("--since: expected a moment of the last 30 days, as 2026-01-31T12:00:00.000Z")
  yield* enabledEndpoint(id)
  const recovery = yield* makeRecovery(Effect.void)
  const { deliveries, resumeAt } = yield* recovery({
    appId,
    mode,
    endpoint,
    since,
    until,
    change: yield* auditEntry("webhook recover", appId, { ...namesOf(id), since: iso(since) })
  })
  return { deliveries, resume_since: isoOrNull(resumeAt) }
})
