import { Clock, Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { providerNames } from "../App.ts"
import { corridorMistake, corridorName } from "../domain/ConfigurationChange.ts"
import { Availability, type Corridor, type CorridorKey, CustomerAction } from "../domain/Corridor.ts"
import { Currency } from "../domain/Currency.ts"
import { Corridors } from "../services/ports/Corridors.ts"
import { Amount, CommaList, choice, flag, help, Words, words } from "./Arguments.ts"
import { CommandRefusal, WrongUsage } from "./CommandRefusal.ts"
import { CHANGED_MEANWHILE, corridorArguments, prefer, routedView, show } from "./CorridorRoutes.ts"
import { operatorPorts } from "./Installation.ts"
import { auditEntry } from "./Operator.ts"
import { printResult } from "./Output.ts"
import { corridorDoubtsHere } from "./Provider.ts"

// Turns a corridor on or off (`corridor set … --active true|false`), and sets its providers, its limits and its requirements.

const list = Command.make(
  "list",
  {},
  Effect.fn(function* () {
    const corridors = yield* Corridors
    yield* printResult((yield* corridors.list).map(routedView))
  }, Effect.provide(operatorPorts))
).pipe(help("List every corridor, active or not", ["gateway corridor list", "List the corridors and who serves them"]))

const amountFlag = (name: string, description: string) =>
  flag(name, Schema.Union([Schema.Literal("none"), Amount]), description).pipe(Flag.optional)

const Network = Schema.String.check(Schema.isPattern(/^[A-Z0-9_]{1,20}$/, { expected: "a network's code in capitals" }))

const switchFlag = (name: string, description: string) => choice(name, ["true", "false"], description).pipe(Flag.optional)

const set = Command.make(
  "set",
  {
    ...corridorArguments,
    active: switchFlag("active", "whether the corridor is open; a closed one refuses everything"),
    inactiveReason: words("inactive-reason", 200, "why it is closed, as tenants read it").pipe(Flag.optional),
    minimum: amountFlag("minimum-minor", "the smallest amount in minor units, or none"),
    maximum: amountFlag("maximum-minor", "the largest amount in minor units, or none"),
    customerAction: choice(
      "customer-action",
      CustomerAction.literals,
      "what a payer has to do; redirect also sets --requires-redirect-url, any other takes it back"
    ).pipe(Flag.optional),
    requiresRedirectUrl: switchFlag("requires-redirect-url", "whether a collection has to say where the payer goes on"),
    requiresMsisdn: switchFlag("requires-msisdn", "whether a bank destination needs a number, too"),
    requiresName: switchFlag("requires-name", "whether a mobile-money destination needs its holder's name"),
    networks: flag("networks", CommaList(Network), "the codes of the networks that it reaches, such as MTN,AIRTEL, or none").pipe(
      Flag.optional
    ),
    destinationCurrencies: flag(
      "destination-currencies",
      CommaList(Currency).check(Schema.isMinLength(1)),
      "what a recipient may get, such as UGX,KES"
    ).pipe(Flag.optional),
    availability: choice("availability", Availability.literals, "how well it works; advice to tenants that refuses nothing").pipe(
      Flag.optional
    ),
    provider: flag(
      "provider",
      CommaList(Words(40)).check(Schema.isMinLength(1)),
      "who serves it: one name, or several in the order in which they are tried"
    ).pipe(Flag.optional)
  },
  Effect.fn(function* ({ country, currency, direction, method, ...changes }) {
    const details = auditDetails(changes)
    if (Object.keys(details).length === 0) return yield* new WrongUsage(NOTHING_TO_CHANGE)
    const corridors = yield* Corridors
    const key: CorridorKey = { country, currency, direction, method }
    const found = yield* corridors.find(key)
    const now = yield* Clock.currentTimeMillis
    const before = Option.getOrElse(found, () => newRow(key))
    // Always later than the previous change, whatever the clock says.
    const next: Corridor = { ...before, ...applyChanges(before, changes), updatedAt: Math.max(now, before.updatedAt + 1) }
    if (next.providers.length === 0) return yield* new CommandRefusal("there is no such corridor yet: add it with --provider")
    const mistake = corridorMistake(next, before, providerNames)
    if (mistake !== null) return yield* new CommandRefusal(mistake)
    if (next.active && Option.isSome(changes.inactiveReason)) {
      return yield* new CommandRefusal("--inactive-reason is for a closed corridor: set --active false, or leave the reason out")
    }
    if (next.customerAction === "redirect" && !next.requiresRedirectUrl) {
      return yield* new CommandRefusal("customer action redirect needs --requires-redirect-url true")
    }
    const seen = Option.isNone(found) ? null : before.updatedAt
    if (!(yield* corridors.put(next, yield* auditEntry("corridor set", corridorName(key), details), seen)))
      return yield* new CommandRefusal(CHANGED_MEANWHILE)
    const doubtsOf = yield* corridorDoubtsHere(now)
    yield* printResult({ ...routedView(next), warnings: next.providers.flatMap((name) => doubtsOf(next, name)) })
  }, Effect.provide(operatorPorts))
).pipe(
  help(
    "Change a corridor, or add it; every node follows within a second. At least one option is needed, and a new corridor needs --provider. The warnings say which of its providers no payment would go to, by the settings here, and why",
    ['gateway corridor set UG UGX payout momo --active false --inactive-reason "The network is down"', "Close a corridor"]
  )
)

export const corridor = Command.make("corridor").pipe(
  help("Corridors: which country, currency, direction and method go together"),
  Command.withSubcommands([list, show, set, prefer])
)

const NOTHING_TO_CHANGE = "nothing to change: give at least one option; gateway corridor set --help lists them"

type Switch = Option.Option<"true" | "false">

interface Changes {
  readonly active: Switch
  readonly inactiveReason: Option.Option<string>
  readonly minimum: Option.Option<Corridor["minimum"] | "none">
  readonly maximum: Option.Option<Corridor["maximum"] | "none">
  readonly customerAction: Option.Option<CustomerAction>
  readonly requiresRedirectUrl: Switch
  readonly requiresMsisdn: Switch
  readonly requiresName: Switch
  readonly networks: Option.Option<Corridor["networks"]>
  readonly destinationCurrencies: Option.Option<Corridor["destinationCurrencies"]>
  readonly availability: Option.Option<Corridor["availability"]>
  readonly provider: Option.Option<Corridor["providers"]>
}

const applyChanges = (before: Corridor, changes: Changes) => {
  const amount = (wish: Changes["minimum"], standing: Corridor["minimum"]) =>
    Option.match(wish, { onNone: () => standing, onSome: (value) => (value === "none" ? null : value) })
  const isOn = (wish: Switch, standing: boolean) =>
    Option.match(wish, { onNone: () => standing, onSome: (value) => value === "true" })
  const active = isOn(changes.active, before.active)
  const customerAction = Option.getOrElse(changes.customerAction, () => before.customerAction)
  const redirects = Option.isSome(changes.customerAction) ? customerAction === "redirect" : before.requiresRedirectUrl
  const reason = Option.getOrElse(changes.inactiveReason, () => before.inactiveReason ?? "switched off by an operator")
  return {
    active,
    inactiveReason: active ? null : reason,
    minimum: amount(changes.minimum, before.minimum),
    maximum: amount(changes.maximum, before.maximum),
    customerAction,
    requiresRedirectUrl: isOn(changes.requiresRedirectUrl, redirects),
    requiresMsisdn: isOn(changes.requiresMsisdn, before.requiresMsisdn),
    requiresName: isOn(changes.requiresName, before.requiresName),
    networks: Option.getOrElse(changes.networks, () => before.networks),
    destinationCurrencies: Option.getOrElse(changes.destinationCurrencies, () => before.destinationCurrencies),
    availability: Option.getOrElse(changes.availability, () => before.availability),
    providers: Option.getOrElse(changes.provider, () => before.providers)
  }
}

const auditDetails = (changes: Changes): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries<Option.Option<unknown>>({ ...changes }).flatMap(([name, wish]) =>
      Option.isSome(wish) ? [[name, String(wish.value)]] : []
    )
  )

/** A new row is off until an operator switches it on. */
const newRow = (key: CorridorKey): Corridor => ({
  ...key,
  active: false,
  providers: [],
  networks: [],
  minimum: null,
  maximum: null,
  customerAction: "none",
  requiresRedirectUrl: false,
  requiresMsisdn: false,
  preference: "order",
  requiresName: false,
  destinationCurrencies: [key.currency],
  availability: "operational",
  inactiveReason: null,
  updatedAt: 0
})
