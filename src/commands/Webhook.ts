import { Clock, Effect, Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import { defaultSubscription } from "../domain/Event.ts"
import type { AppId, Mode } from "../domain/Ids.ts"
import { endpointUrlProblem } from "../services/EndpointAddress.ts"
import { Identifiers } from "../services/ports/Identifiers.ts"
import { Policy } from "../services/ports/Policy.ts"
import { Tenants } from "../services/ports/Tenants.ts"
import { WebhookOutbox } from "../services/ports/WebhookOutbox.ts"
import { answer } from "./Answer.ts"
import { appId, mode } from "./Arguments.ts"
import { operatorPorts } from "./Installation.ts"
import { audit } from "./Operator.ts"
import { Refusal } from "./Refusal.ts"

const SECRET_BYTES = 32

const endpoint = Command.make(
  "endpoint",
  { appId, mode, url: Flag.String("url").pipe(Flag.withDescription("where the tenant wants its events")) },
  Effect.fn(function* ({ appId, mode, url }) {
    yield* answer(yield* setEndpoint(appId, mode, url))
  }, Effect.provide(operatorPorts))
).pipe(Command.withDescription("Set where a tenant's events go, with a new secret that is shown this once"))

export const webhook = Command.make("webhook").pipe(
  Command.withDescription("Webhooks to tenants"),
  Command.withSubcommands([endpoint])
)

const setEndpoint = Effect.fn("setEndpoint")(function* (appId: AppId, mode: Mode, url: string) {
  const { webhookAllowLoopback } = yield* Policy
  const tenants = yield* Tenants
  const outbox = yield* WebhookOutbox
  const identifiers = yield* Identifiers
  const problem = endpointUrlProblem(url, webhookAllowLoopback)
  if (problem !== undefined) return yield* new Refusal({ message: `${url}: ${problem}` })
  if (Option.isNone(yield* tenants.find(appId))) return yield* new Refusal({ message: `there is no tenant ${appId}` })
  const standing = yield* outbox.endpoint(appId, mode)
  const events = Option.match(standing, { onNone: () => defaultSubscription, onSome: (found) => found.events })
  const secret = `whsec_${Buffer.from(yield* identifiers.secret(SECRET_BYTES)).toString("base64")}`
  yield* outbox.setEndpoint(
    { appId, mode, url, events, enabled: true, secret: Redacted.make(secret) },
    yield* Clock.currentTimeMillis,
    yield* audit("webhook endpoint", appId, { mode, url })
  )
  return { url, secret }
})
