import { Clock, Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { type Corridor, type CorridorKey, Country, CustomerAction, Direction, Method } from "../domain/Corridor.ts"
import { Currency } from "../domain/Currency.ts"
import { corridorView } from "../domain/View.ts"
import { Corridors } from "../services/ports/Corridors.ts"
import { answer } from "./Answer.ts"
import { Amount, Words } from "./Arguments.ts"
import { operatorPorts } from "./Installation.ts"
import { audit } from "./Operator.ts"
import { Refusal } from "./Refusal.ts"

const list = Command.make(
  "list",
  {},
  Effect.fn(function* () {
    const corridors = yield* Corridors
    yield* answer((yield* corridors.list).map(corridorView))
  }, Effect.provide(operatorPorts))
).pipe(Command.withDescription("Every corridor row, active or not"))

const bound = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.withSchema(Schema.Union([Schema.Literal("none"), Amount])),
    Flag.withDescription(description),
    Flag.optional
  )

const set = Command.make(
  "set",
  {
    country: Argument.String("COUNTRY").pipe(Argument.withSchema(Country)),
    currency: Argument.Literals("CURRENCY", Currency.literals),
    direction: Argument.Literals("DIRECTION", Direction.literals),
    method: Argument.Literals("METHOD", Method.literals),
    active: Flag.optional(Flag.Literals("active", ["true", "false"])),
    minimum: bound("minimum-minor", "the smallest amount in minor units, or none"),
    maximum: bound("maximum-minor", "the largest amount in minor units, or none"),
    customerAction: Flag.optional(Flag.Literals("customer-action", CustomerAction.literals)),
    provider: Flag.optional(Flag.String("provider").pipe(Flag.withSchema(Words(40))))
  },
  Effect.fn(function* ({ country, currency, direction, method, ...changes }) {
    const corridors = yield* Corridors
    const key: CorridorKey = { country, currency, direction, method }
    const found = yield* corridors.find(key)
    const now = yield* Clock.currentTimeMillis
    const before = Option.getOrElse(found, () => newRow(key))
    const next: Corridor = { ...before, ...changed(before, changes), updatedAt: now }
    if (next.provider === "") return yield* new Refusal({ message: "a new corridor row needs --provider" })
    if (next.minimum !== null && next.maximum !== null && next.minimum > next.maximum) {
      return yield* new Refusal({ message: "the minimum is larger than the maximum" })
    }
    const subject = `${country}/${currency}/${direction}/${method}`
    yield* corridors.put(next, yield* audit("corridor set", subject, wishes(changes)))
    yield* answer(corridorView(next))
  }, Effect.provide(operatorPorts))
).pipe(Command.withDescription("Change a corridor row, or add it; every node follows within a second"))

export const corridor = Command.make("corridor").pipe(
  Command.withDescription("Corridors: which country, currency, direction and method go together"),
  Command.withSubcommands([list, set])
)

interface Changes {
  readonly active: Option.Option<"true" | "false">
  readonly minimum: Option.Option<Corridor["minimum"] | "none">
  readonly maximum: Option.Option<Corridor["maximum"] | "none">
  readonly customerAction: Option.Option<CustomerAction>
  readonly provider: Option.Option<string>
}

const changed = (before: Corridor, changes: Changes) => {
  const amount = (wish: Changes["minimum"], standing: Corridor["minimum"]) =>
    Option.match(wish, { onNone: () => standing, onSome: (value) => (value === "none" ? null : value) })
  const active = Option.match(changes.active, { onNone: () => before.active, onSome: (value) => value === "true" })
  const customerAction = Option.getOrElse(changes.customerAction, () => before.customerAction)
  return {
    active,
    inactiveReason: active ? null : (before.inactiveReason ?? "switched off by an operator"),
    minimum: amount(changes.minimum, before.minimum),
    maximum: amount(changes.maximum, before.maximum),
    customerAction,
    requiresRedirectUrl: customerAction === "redirect",
    provider: Option.getOrElse(changes.provider, () => before.provider)
  }
}

/** What was asked for, as the audit keeps it. */
const wishes = (changes: Changes): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries<Option.Option<unknown>>({ ...changes }).flatMap(([name, wish]) =>
      Option.isSome(wish) ? [[name, String(wish.value)]] : []
    )
  )

/** A row that was not there is off until somebody switches it on. */
const newRow = (key: CorridorKey): Corridor => ({
  ...key,
  active: false,
  provider: "",
  networks: [],
  minimum: null,
  maximum: null,
  customerAction: "none",
  requiresRedirectUrl: false,
  requiresMsisdn: false,
  destinationCurrencies: [key.currency],
  availability: "operational",
  inactiveReason: null,
  updatedAt: 0
})
