import { Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { type AmountCap, CapWindow, capsOf } from "../domain/AmountCaps.ts"
import type { AppId } from "../domain/Ids.ts"
import { Mode } from "../domain/Ids.ts"
import { effectiveLimits, LimitDirection, type VelocityLimit, windowsOf } from "../domain/VelocityLimits.ts"
import { Corridors } from "../services/ports/Corridors.ts"
import { Tenants } from "../services/ports/Tenants.ts"
import { VelocityLimits } from "../services/ports/VelocityLimits.ts"
import {
  amountMinor,
  appId,
  choice,
  currency,
  currencyArgument,
  exampleProvider,
  flag,
  help,
  mode,
  providerName
} from "./Arguments.ts"
import { CommandRefusal, noTenant } from "./CommandRefusal.ts"
import { operatorPorts } from "./Installation.ts"
import { auditEntry } from "./Operator.ts"
import { printResult } from "./Output.ts"

const LARGEST_COUNT = 1_000_000_000
// Only digits: an empty text would be read as 0, which refuses everything.
const Count = Schema.String.check(Schema.isPattern(/^[0-9]{1,10}$/, { expected: "a whole number" })).pipe(
  Schema.decodeTo(Schema.NumberFromString.check(Schema.isBetween({ minimum: 0, maximum: LARGEST_COUNT })))
)

const limitView = ({ count, direction, mode, window }: VelocityLimit) => ({ mode, direction, window, count })
const capView = ({ amount, currency, direction, mode, window }: AmountCap) => ({
  mode,
  direction,
  window,
  currency,
  amount_minor: amount
})

/** Every limit that applies to a tenant: its own, the defaults where it has none, and its amount caps. */
const limitsOf = Effect.fnUntraced(function* (tenant: AppId) {
  const limits = yield* VelocityLimits
  const own = yield* limits.own(tenant)
  const caps = yield* limits.caps(tenant)
  return Mode.literals.flatMap((mode) =>
    LimitDirection.literals.flatMap((direction) => [
      ...effectiveLimits(mode, direction, own).map(limitView),
      ...capsOf(caps, mode, direction).map(capView)
    ])
  )
})

const direction = choice(
  "direction",
  LimitDirection.literals,
  "which way; code counts the codes that are texted to payers, in hour and day"
).pipe(Flag.withDefault("payout"))
const window = choice(
  "window",
  CapWindow.literals,
  "hour and day are all of the tenant's, destination and destination_day one recipient's (or payer's), key and key_day one API key's (amounts only)"
)

const set = Command.make(
  "set",
  {
    appId,
    mode,
    direction,
    window,
    count: flag("count", Count, "how many in one window; 0 refuses all").pipe(Flag.optional),
    currency: currency.pipe(Flag.optional, Flag.withDescription("with --amount-minor: the currency that the cap is for")),
    amount: amountMinor.pipe(
      Flag.optional,
      Flag.withDescription("how much in one window, without fees: a whole number of the currency's smallest unit, more than zero")
    )
  },
  Effect.fn(function* ({ amount, appId, count, currency, ...scope }) {
    if (Option.isSome(amount) && Option.isSome(currency) && Option.isNone(count))
      yield* setCap(appId, { ...scope, currency: currency.value, amount: amount.value })
    else if (Option.isSome(count) && Option.isNone(amount) && Option.isNone(currency))
      yield* setCount(appId, { ...scope, count: count.value })
    else return yield* new CommandRefusal("give --count N, or --currency C with --amount-minor N")
    yield* printResult(yield* limitsOf(appId))
  }, Effect.provide(operatorPorts))
).pipe(
  help(
    "Set one of a tenant's limits, how many or how much in a window; every node counts by it within a second, amounts from then on",
    ["gateway limit set shop --mode live --window hour --count 500", "Let a tenant make 500 payouts an hour"],
    [
      "gateway limit set shop --mode live --window day --currency UGX --amount-minor 20000000",
      "Let a tenant pay out UGX 20,000,000 a day"
    ]
  )
)

const setCount = Effect.fnUntraced(function* (
  tenant: AppId,
  wanted: Omit<VelocityLimit, "window"> & { readonly window: CapWindow }
) {
  const windows = windowsOf(wanted.direction)
  const known = windows.find((one) => one === wanted.window)
  if (known === undefined) return yield* noWindow(wanted, windows)
  const limit = { ...wanted, window: known }
  const entry = yield* auditEntry("limit set", tenant, { ...limit, count: String(limit.count) })
  if (!(yield* (yield* VelocityLimits).set(tenant, limit, entry))) return yield* noTenant(tenant)
})

const setCap = Effect.fnUntraced(function* (tenant: AppId, wanted: Wanted & Pick<AmountCap, "amount">) {
  const cap = { ...wanted, direction: yield* ofMoney(wanted.direction) }
  const entry = yield* auditEntry("cap set", tenant, capDetails(cap, { amount_minor: cap.amount.toString() }))
  if (!(yield* (yield* VelocityLimits).setCap(tenant, cap, entry))) return yield* noTenant(tenant)
})

const remove = Command.make(
  "remove",
  { appId, mode, direction, window, currency },
  Effect.fn(function* ({ appId, ...wanted }) {
    const cap = { ...wanted, direction: yield* ofMoney(wanted.direction) }
    if (!(yield* (yield* VelocityLimits).removeCap(appId, cap, yield* auditEntry("cap remove", appId, capDetails(cap)))))
      return yield* new CommandRefusal(`there is no such cap: gateway limit list ${appId} shows all of the tenant's`)
    yield* printResult(yield* limitsOf(appId))
  }, Effect.provide(operatorPorts))
).pipe(
  help("Remove a cap of amounts; every node lets more through within a second", [
    "gateway limit remove shop --mode live --window day --currency UGX",
    "Let a tenant pay out any amount of UGX a day again"
  ])
)

interface Wanted extends Omit<AmountCap, "amount" | "direction"> {
  readonly direction: LimitDirection
}

/** A code has no amount. */
const ofMoney = (direction: LimitDirection) =>
  direction === "code" ? Effect.fail(new CommandRefusal("codes have no amount: use --count")) : Effect.succeed(direction)

const noWindow = ({ direction, window }: Pick<Wanted, "direction" | "window">, windows: ReadonlyArray<string>) =>
  new CommandRefusal(`there is no window ${window} for ${direction}: use ${windows.join(" or ")}`)

const capDetails = (
  { currency, direction, mode, window }: Omit<AmountCap, "amount">,
  more: { readonly amount_minor?: string } = {}
) => ({
  mode,
  direction,
  window,
  currency,
  ...more
})

const list = Command.make(
  "list",
  { appId },
  Effect.fn(function* ({ appId }) {
    if (Option.isNone(yield* (yield* Tenants).find(appId))) return yield* noTenant(appId)
    yield* printResult(yield* limitsOf(appId))
  }, Effect.provide(operatorPorts))
).pipe(
  help("List the limits that hold for a tenant, its own and the defaults, and its caps of amounts", [
    "gateway limit list shop",
    "List a tenant's limits"
  ])
)

export const limit = Command.make("limit").pipe(
  help(
    "How many transactions a tenant may make, how much money it may move, and how many codes it may have texted, in a window of time"
  ),
  Command.withSubcommands([set, remove, list])
)

const setCeiling = Command.make(
  "set",
  { provider: providerName, currency: currencyArgument, amount: amountMinor },
  Effect.fn(function* ({ amount, currency, provider }) {
    const limits = yield* VelocityLimits
    const routed = (yield* (yield* Corridors).list).some((row) => row.providers.includes(provider))
    if (!routed)
      return yield* new CommandRefusal(`no corridor is served by ${provider}: gateway corridor list shows who serves them`)
    const entry = yield* auditEntry("ceiling set", `${provider}/${currency}`, { amount_minor: amount.toString() })
    yield* limits.setCeiling(provider, currency, amount, entry)
    yield* printResult({ provider, currency, amount_minor: amount })
  }, Effect.provide(operatorPorts))
).pipe(
  help("Set what a provider's account may pay out on one UTC day, fees included", [
    `gateway ceiling set ${exampleProvider} UGX --amount-minor 500000000`,
    "Let an account pay out UGX 500,000,000 a day"
  ])
)

export const ceiling = Command.make("ceiling").pipe(
  help("Ceilings of the providers' accounts"),
  Command.withSubcommands([setCeiling])
)
