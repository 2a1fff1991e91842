import { Clock, Effect, Option, Redacted } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { DeliveryStatus, deliveryView } from "../domain/Delivery.ts"
import { defaultSubscription } from "../domain/Event.ts"
import { type AppId, isReference, type Mode } from "../domain/Ids.ts"
import { instantOf, iso } from "../domain/Instant.ts"
import { SECRET_BYTES, webhookSecretFrom } from "../domain/StandardWebhook.ts"
import { ROTATION_MS } from "../domain/WebhookEndpoint.ts"
import { Policy } from "../services/ports/Policy.ts"
import { RandomSource } from "../services/ports/RandomSource.ts"
import { Tenants } from "../services/ports/Tenants.ts"
import { WebhookDeliveries } from "../services/ports/WebhookDeliveries.ts"
import { WebhookEndpoints } from "../services/ports/WebhookEndpoints.ts"
import { endpointUrlProblem } from "../services/webhooks/EndpointAddress.ts"
import { EVENTS_KEPT_MS, makeRecovery } from "../services/webhooks/WebhookRecovery.ts"
import { appId, mode } from "./Arguments.ts"
import { CommandRefusal, noTenant } from "./CommandRefusal.ts"
import { operatorPorts } from "./Installation.ts"
import { auditEntry } from "./Operator.ts"
import { printResult } from "./Output.ts"

/** The newest so many are shown. */
const SHOWN = 200

const endpoint = Command.make(
  "endpoint",
  { appId, mode, url: Flag.String("url").pipe(Flag.withDescription("where the tenant wants its events")) },
  Effect.fn(function* ({ appId, mode, url }) {
    yield* printResult(yield* setEndpoint(appId, mode, url))
  }, Effect.provide(operatorPorts))
).pipe(
  Command.withDescription(
    "Set where a tenant's events go, with a new secret that is shown only once; the old one still signs for 24 h"
  ),
  Command.withExamples([
    {
      command: "gateway webhook endpoint shop --mode live --url https://shop.example/events",
      description: "Set an endpoint and print its secret"
    }
  ])
)

const deliveries = Command.make(
  "deliveries",
  {
    appId,
    mode,
    status: Flag.Literals("status", DeliveryStatus.literals).pipe(Flag.withDescription("only these"), Flag.optional)
  },
  Effect.fn(function* ({ appId, mode, status }) {
    const outgoing = yield* WebhookDeliveries
    const tenants = yield* Tenants
    if (Option.isNone(yield* tenants.find(appId))) return yield* noTenant(appId)
    const { items } = yield* outgoing.list({ appId, mode, status: Option.getOrNull(status), limit: SHOWN, after: null })
    yield* printResult(items.map(deliveryView))
  }, Effect.provide(operatorPorts))
).pipe(
  Command.withDescription(`A tenant's newest ${SHOWN} deliveries with their attempts`),
  Command.withExamples([
    { command: "gateway webhook deliveries shop --mode live --status parked", description: "List what the endpoint never took" }
  ])
)

const redeliver = Command.make(
  "redeliver",
  { id: Argument.String("DELIVERY_ID").pipe(Argument.withDescription("the delivery, as `webhook deliveries` prints it")) },
  Effect.fn(function* ({ id }) {
    yield* printResult(deliveryView(yield* redeliverById(id)))
  }, Effect.provide(operatorPorts))
).pipe(
  Command.withDescription("Send one event again: the same bytes under the same id. The tenant needs an enabled endpoint"),
  Command.withExamples([{ command: "gateway webhook redeliver AAA688MG9KT6BQ76F4NM4BJRH5", description: "Send one event again" }])
)

const recover = Command.make(
  "recover",
  {
    appId,
    mode,
    since: Flag.String("since").pipe(Flag.withDescription("as 2026-01-31T12:00:00.000Z, at most 30 days ago"))
  },
  Effect.fn(function* ({ appId, mode, since }) {
    yield* printResult(yield* recoverSince(appId, mode, since))
  }, Effect.provide(operatorPorts))
).pipe(
  Command.withDescription(
    "Send every event since then again, as its tenant could: the same bytes under the same ids. The tenant needs an enabled endpoint"
  ),
  Command.withExamples([
    {
      command: "gateway webhook recover shop --mode live --since 2026-01-31T12:00:00.000Z",
      description: "Send again what an outage lost"
    }
  ])
)

export const webhook = Command.make("webhook").pipe(
  Command.withDescription("Webhooks to tenants"),
  Command.withSubcommands([endpoint, deliveries, redeliver, recover])
)

const setEndpoint = Effect.fn("setEndpoint")(function* (appId: AppId, mode: Mode, url: string) {
  const { webhookAllowLoopback } = yield* Policy
  const tenants = yield* Tenants
  const endpoints = yield* WebhookEndpoints
  const randomSource = yield* RandomSource
  const problem = endpointUrlProblem(url, webhookAllowLoopback)
  if (problem !== undefined) return yield* new CommandRefusal({ message: `${url}: ${problem}` })
  if (Option.isNone(yield* tenants.find(appId))) return yield* noTenant(appId)
  const standing = yield* endpoints.find(appId, mode)
  const events = Option.match(standing, { onNone: () => defaultSubscription, onSome: (found) => found.events })
  const secret = webhookSecretFrom(yield* randomSource.secret(SECRET_BYTES))
  const at = yield* Clock.currentTimeMillis
  const change = yield* auditEntry("webhook endpoint", appId, { mode, url })
  const put = {
    appId,
    mode,
    url,
    events,
    enabled: true,
    secret: Redacted.make(secret),
    rotatesUntil: at + ROTATION_MS,
    at,
    change
  }
  yield* endpoints.put(put)
  return { url, secret }
})

const redeliverById = Effect.fn("redeliverById")(function* (id: string) {
  const outgoing = yield* WebhookDeliveries
  const unknown = new CommandRefusal({ message: `there is no delivery ${id}: gateway webhook deliveries lists them` })
  const owner = isReference(id) ? yield* outgoing.owner(id) : Option.none()
  if (!isReference(id) || Option.isNone(owner)) return yield* unknown
  const { appId, mode } = owner.value
  yield* enabledEndpoint(appId, mode)
  const entry = yield* auditEntry("webhook redeliver", appId, { mode, delivery: id })
  if (!(yield* outgoing.redeliver({ appId, mode, id, at: entry.at, change: entry }))) return yield* unknown
  return yield* Effect.flatMap(outgoing.find(appId, mode, id), (found) =>
    Option.isNone(found) ? unknown : Effect.succeed(found.value)
  )
})

const enabledEndpoint = Effect.fn("enabledEndpoint")(function* (appId: AppId, mode: Mode) {
  const endpoints = yield* WebhookEndpoints
  const standing = yield* endpoints.find(appId, mode)
  if (!Option.exists(standing, ({ enabled }) => enabled))
    return yield* new CommandRefusal({
      message: `the tenant ${appId} has no enabled endpoint in ${mode} mode: set one with gateway webhook endpoint`
    })
})

const recoverSince = Effect.fn("recoverSince")(function* (appId: AppId, mode: Mode, text: string) {
  const since = Option.getOrUndefined(instantOf(text))
  const until = yield* Clock.currentTimeMillis
  if (since === undefined || since > until || since < until - EVENTS_KEPT_MS)
    return yield* new CommandRefusal({ message: "--since: expected a moment of the last 30 days, as 2026-01-31T12:00:00.000Z" })
  yield* enabledEndpoint(appId, mode)
  const recovery = yield* makeRecovery(Effect.void)
  const { deliveries, resumeAt } = yield* recovery({
    appId,
    mode,
    since,
    until,
    change: yield* auditEntry("webhook recover", appId, { mode, since: iso(since) })
  })
  return { deliveries, resume_since: resumeAt === null ? null : iso(resumeAt) }
})
