import { Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import type { AppId } from "../domain/Ids.ts"
import { Mode } from "../domain/Ids.ts"
import { effectiveLimits, LimitDirection, LimitWindow, type VelocityLimit, windowsOf } from "../domain/VelocityLimits.ts"
import { Corridors } from "../services/ports/Corridors.ts"
import { Tenants } from "../services/ports/Tenants.ts"
import { VelocityLimits } from "../services/ports/VelocityLimits.ts"
import { amountMinor, appId, currencyArgument, exampleProvider, mode, providerName } from "./Arguments.ts"
import { CommandRefusal, noTenant } from "./CommandRefusal.ts"
import { operatorPorts } from "./Installation.ts"
import { auditEntry } from "./Operator.ts"
import { printResult } from "./Output.ts"

const LARGEST_COUNT = 1_000_000_000
// Digits and nothing else: an empty text would be read as 0, which refuses all.
const Count = Schema.String.check(Schema.isPattern(/^[0-9]{1,10}$/, { expected: "a whole number" })).pipe(
  Schema.decodeTo(Schema.NumberFromString.check(Schema.isBetween({ minimum: 0, maximum: LARGEST_COUNT })))
)

const view = ({ count, direction, mode, window }: VelocityLimit) => ({ mode, direction, window, count })

/** Every limit that holds for a tenant: its own, and the defaults where it has none. */
const limitsOf = Effect.fnUntraced(function* (tenant: AppId) {
  const limits = yield* VelocityLimits
  const own = yield* limits.own(tenant)
  return Mode.literals
    .flatMap((mode) => LimitDirection.literals.flatMap((direction) => effectiveLimits(mode, direction, own)))
    .map(view)
})

const set = Command.make(
  "set",
  {
    appId,
    mode,
    direction: Flag.Literals("direction", LimitDirection.literals).pipe(
      Flag.withDefault("payout"),
      Flag.withDescription("which way; code counts the codes that are texted to payers, in hour and day")
    ),
    window: Flag.Literals("window", LimitWindow.literals).pipe(
      Flag.withDescription("destination counts one recipient's (or payer's) hour, destination_day its day")
    ),
    count: Flag.String("count").pipe(Flag.withSchema(Count), Flag.withDescription("how many in one window; 0 refuses all"))
  },
  Effect.fn(function* ({ appId, ...limit }) {
    const limits = yield* VelocityLimits
    const windows = windowsOf(limit.direction)
    if (!windows.includes(limit.window))
      return yield* new CommandRefusal({
        message: `there is no window ${limit.window} for ${limit.direction}: use ${windows.join(" or ")}`
      })
    const entry = yield* auditEntry("limit set", appId, { ...limit, count: String(limit.count) })
    if (!(yield* limits.set(appId, limit, entry))) return yield* noTenant(appId)
    yield* printResult(yield* limitsOf(appId))
  }, Effect.provide(operatorPorts))
).pipe(
  Command.withDescription("Set one of a tenant's limits; every node counts by it within a second"),
  Command.withExamples([
    {
      command: "gateway limit set shop --mode live --window hour --count 500",
      description: "Let a tenant make 500 payouts an hour"
    }
  ])
)

const list = Command.make(
  "list",
  { appId },
  Effect.fn(function* ({ appId }) {
    if (Option.isNone(yield* (yield* Tenants).find(appId))) return yield* noTenant(appId)
    yield* printResult(yield* limitsOf(appId))
  }, Effect.provide(operatorPorts))
).pipe(
  Command.withDescription("List the limits that hold for a tenant, its own and the defaults"),
  Command.withExamples([{ command: "gateway limit list shop", description: "List a tenant's limits" }])
)

export const limit = Command.make("limit").pipe(
  Command.withDescription("How many transactions a tenant may make, and codes it may have texted, in a window of time"),
  Command.withSubcommands([set, list])
)

const setCeiling = Command.make(
  "set",
  { provider: providerName, currency: currencyArgument, amount: amountMinor },
  Effect.fn(function* ({ amount, currency, provider }) {
    const limits = yield* VelocityLimits
    const routed = (yield* (yield* Corridors).list).some((row) => row.providers.includes(provider))
    if (!routed)
      return yield* new CommandRefusal({
        message: `no corridor is served by ${provider}: gateway corridor list shows who serves them`
      })
    yield* limits.setCeiling(
      provider,
      currency,
      amount,
      yield* auditEntry("ceiling set", `${provider}/${currency}`, { amount_minor: amount.toString() })
    )
    yield* printResult({ provider, currency, amount_minor: amount })
  }, Effect.provide(operatorPorts))
).pipe(
  Command.withDescription("Set what a provider's account may pay out on one UTC day, fees included"),
  Command.withExamples([
    {
      command: `gateway ceiling set ${exampleProvider} UGX --amount-minor 500000000`,
      description: "Let an account pay out UGX 500,000,000 a day"
    }
  ])
)

export const ceiling = Command.make("ceiling").pipe(
  Command.withDescription("Ceilings of the providers' accounts"),
  Command.withSubcommands([setCeiling])
)
