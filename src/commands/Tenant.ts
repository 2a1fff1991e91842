import { Clock, Effect, Option } from "effect"
import { Argument, Command } from "effect/cli"
import type { AppId } from "../domain/Ids.ts"
import { maskedText } from "../domain/Masking.ts"
import { Capability, defaultCapabilities, sortedCapabilities, type Tenant } from "../domain/Tenant.ts"
import { pinDoubts } from "../services/ports/CorridorDoubts.ts"
import { Corridors } from "../services/ports/Corridors.ts"
import { Tenants } from "../services/ports/Tenants.ts"
import { appId, choice, exampleProvider, help, providerName, reason, requireKnownProviders, Words } from "./Arguments.ts"
import { CommandRefusal, noTenant } from "./CommandRefusal.ts"
import { operatorPorts } from "./Installation.ts"
import { auditEntry } from "./Operator.ts"
import { printResult } from "./Output.ts"
import { corridorDoubtsHere } from "./Provider.ts"

const create = Command.make(
  "create",
  { appId },
  Effect.fn(function* ({ appId }) {
    yield* printResult(tenantView(yield* createTenant(appId)))
  }, Effect.provide(operatorPorts))
).pipe(
  help("Make a tenant, with the default capabilities. It needs a key and a float before it can pay out", [
    "gateway tenant create shop",
    "Make the tenant shop"
  ])
)

const list = Command.make(
  "list",
  {},
  Effect.fn(function* () {
    const tenants = yield* Tenants
    yield* printResult((yield* tenants.list).map(treatedView))
  }, Effect.provide(operatorPorts))
).pipe(help("List every tenant, by name", ["gateway tenant list", "List the tenants"]))

const statusCommand = (name: "freeze" | "unfreeze", status: Tenant["status"], description: string, why: string) =>
  Command.make(
    name,
    { appId, reason },
    Effect.fn(function* ({ appId, reason }) {
      const tenants = yield* Tenants
      const entry = yield* auditEntry(`tenant ${name}`, appId, { reason: maskedText(reason) })
      yield* answerTenant(appId, yield* tenants.setStatus(appId, status, entry))
    }, Effect.provide(operatorPorts))
  ).pipe(help(description, [`gateway tenant ${name} shop --reason "${why}"`, description]))

const capabilityCommand = (name: "grant" | "deny", description: string) =>
  Command.make(
    name,
    {
      appId,
      capability: Argument.Literals("CAPABILITY", Capability.literals).pipe(
        Argument.withDescription(`what the tenant may do: ${Capability.literals.join(", ")}`)
      )
    },
    Effect.fn(function* ({ appId, capability }) {
      const tenants = yield* Tenants
      const entry = yield* auditEntry(`tenant ${name}`, appId, { capability })
      yield* answerTenant(appId, yield* tenants.setCapability(appId, capability, name === "grant", entry))
    }, Effect.provide(operatorPorts))
  ).pipe(help(description, [`gateway tenant ${name} shop fx`, description]))

const pin = Command.make(
  "pin",
  { appId, provider: providerName.pipe(Argument.withSchema(Words(40))), reason },
  Effect.fn(function* ({ appId, provider, reason }) {
    yield* requireKnownProviders([provider])
    const tenants = yield* Tenants
    const entry = yield* auditEntry("tenant pin", appId, { provider, reason: maskedText(reason) })
    const changed = yield* tenants.pin(appId, provider, entry)
    if (Option.isNone(changed)) return yield* noTenant(appId)
    const doubtsOf = yield* corridorDoubtsHere(yield* Clock.currentTimeMillis)
    const warnings = pinDoubts(yield* (yield* Corridors).list, provider, doubtsOf)
    yield* printResult({ ...treatedView(changed.value), warnings })
  }, Effect.provide(operatorPorts))
).pipe(
  help(
    "Send a tenant to one provider alone, in every corridor that has it; other corridors keep their order. The warnings say in which open corridors it would be refused, by the settings here, and why",
    [`gateway tenant pin shop ${exampleProvider} --reason "their own contract"`, "Send a tenant to one provider"]
  )
)

const unpin = Command.make(
  "unpin",
  { appId, reason },
  Effect.fn(function* ({ appId, reason }) {
    const tenants = yield* Tenants
    const entry = yield* auditEntry("tenant unpin", appId, { reason: maskedText(reason) })
    yield* answerTenant(appId, yield* tenants.pin(appId, null, entry), treatedView)
  }, Effect.provide(operatorPorts))
).pipe(
  help("Undo a pin: the corridors decide again", [
    'gateway tenant unpin shop --reason "the contract ended"',
    "Let the corridors decide again"
  ])
)

const guard = Command.make(
  "guard",
  {
    appId,
    repeatSales: choice(
      "repeat-sales",
      ["allow", "refuse"],
      "refuse is the default: a number is not charged again within 15 minutes after a charge that succeeded"
    ),
    reason
  },
  Effect.fn(function* ({ appId, reason, repeatSales }) {
    const tenants = yield* Tenants
    const entry = yield* auditEntry("tenant guard", appId, { repeat_sales: repeatSales, reason: maskedText(reason) })
    yield* answerTenant(appId, yield* tenants.setRepeatSales(appId, repeatSales === "allow", entry), treatedView)
  }, Effect.provide(operatorPorts))
).pipe(
  help(
    "Allow a tenant to charge one number again within 15 minutes, for shops that sell one customer several things; a charge that is still open, or that failed without proof, always stops the next one",
    ['gateway tenant guard shop --repeat-sales allow --reason "sells tickets one by one"', "Allow repeated sales to one number"]
  )
)

export const tenant = Command.make("tenant").pipe(
  help("Tenants: the applications that use the gateway"),
  Command.withSubcommands([
    create,
    list,
    statusCommand("freeze", "frozen", "Refuse a tenant everything that moves money; what is open still settles", "stolen keys"),
    statusCommand("unfreeze", "active", "Let a frozen tenant move money again", "new keys were issued"),
    capabilityCommand("grant", "Let a tenant use a capability"),
    capabilityCommand("deny", "Take a capability from a tenant"),
    pin,
    unpin,
    guard
  ])
)

/** Refused when the name is taken. */
export const createTenant = Effect.fn("createTenant")(function* (appId: AppId) {
  const tenants = yield* Tenants
  const createdAt = yield* Clock.currentTimeMillis
  const tenant: Tenant = {
    appId,
    status: "active",
    capabilities: defaultCapabilities,
    pinned: null,
    repeatSales: false,
    createdAt
  }
  const entry = yield* auditEntry("tenant create", appId, { capabilities: tenant.capabilities.join(",") })
  if (!(yield* tenants.create(tenant, entry)))
    return yield* new CommandRefusal(`the tenant ${appId} exists already: choose another name`)
  return tenant
})

const answerTenant = Effect.fnUntraced(function* (
  appId: AppId,
  changed: Option.Option<Tenant>,
  view: (tenant: Tenant) => unknown = tenantView
) {
  if (Option.isNone(changed)) return yield* noTenant(appId)
  yield* printResult(view(changed.value))
})

const tenantView = ({ appId, capabilities, status }: Tenant) => ({
  app_id: appId,
  status,
  capabilities: sortedCapabilities(capabilities)
})

const treatedView = (tenant: Tenant) => ({
  ...tenantView(tenant),
  pinned_provider: tenant.pinned,
  repeat_sales: tenant.repeatSales ? "allow" : "refuse"
})
