import { Schema } from "effect"
import { Currency } from "./Currency.ts"
import { exemplified } from "./Description.ts"
import { Instant } from "./Instant.ts"
import { MinorUnits } from "./Money.ts"

export const Direction = Schema.Literals(["collection", "payout"]).annotate({
  identifier: "Direction",
  description: "Whether money comes in (a collection) or goes out (a payout)"
})
export type Direction = typeof Direction.Type

export const Method = Schema.Literals(["momo", "bank", "card", "wallet"]).annotate({
  identifier: "Method",
  description: "How money moves: mobile money, a bank account, a card, or a wallet at the provider"
})
export type Method = typeof Method.Type

export const Country = Schema.String.check(
  Schema.isPattern(/^[A-Z]{2}$/u, { expected: "two capital letters such as UG" })
).annotate({
  identifier: "Country",
  description: "A country as two capital letters (ISO 3166-1), such as UG"
})

/** The key of a corridor. Capability is defined per (country, currency, direction, method), never per country. */
export const CorridorKey = Schema.Struct({
  country: exemplified(Country, "NG"),
  currency: exemplified(Currency, "NGN"),
  direction: exemplified(Direction, "payout"),
  method: exemplified(Method, "momo")
}).annotate({
  identifier: "CorridorKey",
  description: "What names a corridor"
})
export type CorridorKey = typeof CorridorKey.Type

/** The key alone, taken from a row or a record with more fields. */
export const corridorKeyOf = ({ country, currency, direction, method }: CorridorKey): CorridorKey => ({
  country,
  currency,
  direction,
  method
})

export const CustomerAction = Schema.Literals(["none", "handset_pin", "otp", "redirect"]).annotate({
  identifier: "CustomerAction",
  description: "What the payer has to do: nothing, approve with the PIN on the handset, type a code, or finish on a page"
})
export type CustomerAction = typeof CustomerAction.Type

/** From best to worst. */
export const Availability = Schema.Literals(["operational", "degraded", "down"]).annotate({
  identifier: "Availability",
  description: "How well a corridor works just now. It is advice: it refuses nothing"
})
export type Availability = typeof Availability.Type

/** How a corridor's providers are ordered: as in its row, by success rate over the last hour, or by each payment's price. */
export const Preference = Schema.Literals(["order", "success", "price"])
export type Preference = typeof Preference.Type

/** One corridor row (contract COR-5, COR-6). `active` is the only switch that refuses payments; `availability` is advice. */
export const Corridor = Schema.Struct({
  ...CorridorKey.fields,
  active: Schema.Boolean,
  /** Never empty. The providers that are tried, in this order. */
  providers: Schema.Array(Schema.String),
  /** Whether they are tried in that order, by success or by price. */
  preference: Preference,
  networks: Schema.Array(Schema.String),
  minimum: Schema.NullOr(MinorUnits),
  maximum: Schema.NullOr(MinorUnits),
  customerAction: CustomerAction,
  requiresRedirectUrl: Schema.Boolean,
  requiresMsisdn: Schema.Boolean,
  requiresName: Schema.Boolean,
  destinationCurrencies: Schema.Array(Currency),
  availability: Availability,
  inactiveReason: Schema.NullOr(Schema.String),
  updatedAt: Instant
})
export type Corridor = typeof Corridor.Type

const aliases: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  GH: { VODAFONE: "TELECEL", AIRTELTIGO: "AT" },
  TZ: { VODACOM: "MPESA" }
}

/** The network's code as the corridor lists it, for any case or alias; undefined where the corridor has no such network. */
export const networkOf = (corridor: Pick<Corridor, "networks">, country: string, network: string): string | undefined => {
  const upper = network.toUpperCase()
  const code = aliases[country]?.[upper] ?? upper
  return corridor.networks.includes(code) ? code : undefined
}

/** How well a corridor works, given the number of providers that are tried and the number of those whose circuit is open. */
export const availabilityOf = (tried: number, open: number): Availability =>
  open === 0 ? "operational" : open < tried ? "degraded" : "down"

export const worse = (one: Availability, other: Availability): Availability =>
  Availability.literals.indexOf(one) > Availability.literals.indexOf(other) ? one : other
