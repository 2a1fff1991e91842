import { Clock, Effect } from "effect"
import { Command } from "effect/cli"
import type { AppId } from "../domain/Ids.ts"
import { defaultCapabilities, type Tenant } from "../domain/Tenant.ts"
import { Tenants } from "../services/ports/Tenants.ts"
import { answer } from "./Answer.ts"
import { appId } from "./Arguments.ts"
import { operatorPorts } from "./Installation.ts"
import { audit } from "./Operator.ts"
import { Refusal } from "./Refusal.ts"

const create = Command.make(
  "create",
  { appId },
  Effect.fn(function* ({ appId }) {
    yield* answer(tenantView(yield* createTenant(appId)))
  }, Effect.provide(operatorPorts))
).pipe(Command.withDescription("Make a tenant with the capabilities that a new one gets"))

const list = Command.make(
  "list",
  {},
  Effect.fn(function* () {
    const tenants = yield* Tenants
    yield* answer((yield* tenants.list).map(tenantView))
  }, Effect.provide(operatorPorts))
).pipe(Command.withDescription("Every tenant, by name"))

export const tenant = Command.make("tenant").pipe(
  Command.withDescription("Tenants: the applications that use the gateway"),
  Command.withSubcommands([create, list])
)

/** Refused when the name is taken. */
export const createTenant = Effect.fn("createTenant")(function* (appId: AppId) {
  const tenants = yield* Tenants
  const createdAt = yield* Clock.currentTimeMillis
  const tenant: Tenant = { appId, status: "active", capabilities: defaultCapabilities, createdAt }
  const created = yield* tenants.create(
    tenant,
    yield* audit("tenant create", appId, { capabilities: tenant.capabilities.join(",") })
  )
  if (!created) return yield* new Refusal({ message: `the tenant ${appId} exists already` })
  return tenant
})

const tenantView = ({ appId, capabilities, status }: Tenant) => ({ app_id: appId, status, capabilities })
