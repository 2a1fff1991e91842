import { Effect, Result } from "effect"
import { Command, Flag } from "effect/cli"
import { maskedText } from "../domain/Masking.ts"
import { maskedSender, senderFrom } from "../domain/Sender.ts"
import { Tenants } from "../services/ports/Tenants.ts"
import { appId, help, reason } from "./Arguments.ts"
import { CommandRefusal, noTenant } from "./CommandRefusal.ts"
import { operatorPorts } from "./Installation.ts"
import { auditEntry } from "./Operator.ts"
import { printResult } from "./Output.ts"
import { OR_TYPED, typedLine } from "./TypedLine.ts"

// The payer that providers are sent where a country requires one.

const free = (name: string, description: string) => Flag.String(name).pipe(Flag.withDescription(description))

const set = Command.make(
  "set",
  {
    appId,
    name: free("name", "the company's or person's full name, as in its papers"),
    country: free("country", "two letters, such as KE"),
    number: free("number", `its phone number, with or without the country's prefix; ${OR_TYPED}`),
    address: free("address", "its address, in one line"),
    reason
  },
  Effect.fn(function* ({ address, appId, country, name, number: given, reason }) {
    const tenants = yield* Tenants
    const number = yield* typedLine(given)
    const typed = senderFrom({ address, country, name, number })
    if (Result.isFailure(typed)) return yield* new CommandRefusal(typed.failure)
    const shown = maskedSender(typed.success)
    const entry = yield* auditEntry("tenant sender", appId, { ...shown, reason: maskedText(reason) })
    if (!(yield* tenants.setSender(appId, typed.success, entry))) return yield* noTenant(appId)
    yield* printResult({ app_id: appId, sender: shown })
  }, Effect.provide(operatorPorts))
).pipe(
  help("Say who pays for a tenant's payouts, where a provider requires a sender: corridors with `requires_sender`", [
    'gateway sender set shop --name "Shop Ltd" --country KE --number - --address "1 Moi Avenue" --reason KYC',
    "Let a tenant pay out where a sender is required; the number is typed after it"
  ])
)

const remove = Command.make(
  "remove",
  { appId, reason },
  Effect.fn(function* ({ appId, reason }) {
    const tenants = yield* Tenants
    const entry = yield* auditEntry("tenant sender remove", appId, { reason: maskedText(reason) })
    if (!(yield* tenants.setSender(appId, null, entry))) return yield* noTenant(appId)
    yield* printResult({ app_id: appId, sender: null })
  }, Effect.provide(operatorPorts))
).pipe(
  help("Forget who pays for a tenant: payouts that have to name a sender are refused, or name the provider account's", [
    'gateway sender remove shop --reason "it moved away"',
    "Forget who pays for a tenant"
  ])
)

export const sender = Command.make("sender").pipe(
  help("Who pays for a tenant's payouts, where a provider requires a sender"),
  Command.withSubcommands([set, remove])
)
