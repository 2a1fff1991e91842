import { Cache, Clock, Duration, Effect, Fiber, Option, Result, Schema, Scope } from "effect"
import type { Availability } from "../../domain/Corridor.ts"
import { type Currency, exponents } from "../../domain/Currency.ts"
import type { ProviderError } from "../../domain/errors/Retriable.ts"
import { fromDecimalDown, fromDecimalUp, type MinorUnits, minor, ZERO } from "../../domain/Money.ts"
import type { PaymentKind } from "../../domain/Payment.ts"
import type { NetworkLimits } from "../../services/ports/Provider.ts"
import type { Connection } from "../Connection.ts"
import { readableRows } from "../Rows.ts"
import { Amount } from "../WireNumber.ts"
import type { Decimals } from "./Networks.ts"
import { ActiveConfAnswer, ActiveCountry, ActiveOperation } from "./Wire.ts"

/** pawaPay's limits of one network in one direction. Null: not reported, or not readable. */
interface ActiveLimits extends Omit<NetworkLimits, "step"> {
  readonly decimals: Decimals | null
}

/** This account's latest configuration at pawaPay. */
export interface ActiveConf {
  /** Calls pawaPay. */
  readonly read: Effect.Effect<ReadonlyArray<typeof ActiveCountry.Type>, ProviderError>
  /** At most a minute old when pawaPay answers quickly; otherwise the last known one. Null: none was ever read. */
  readonly current: Effect.Effect<Said | null>
  /** The last known one, without a call. */
  readonly known: () => Said | null
}

/** Limits by network and direction; undefined when nothing is known. */
export type Said = (network: string, kind: PaymentKind, currency: Currency) => ActiveLimits | undefined

const FRESH_FOR = Duration.minutes(1)
/** A payment waits no longer for the configuration. The call continues, and the next payment uses its result. */
const WAIT_AT_MOST_MS = 2_000
/** A closed network may have reopened: when the configuration could not be read for this long, payments are tried. */
const BELIEVED_FOR_MS = 10 * 60_000

export const openActiveConf = Effect.fn("pawapay.openActiveConf")(function* ({
  get,
  name
}: Pick<Connection, "get" | "name">): Effect.fn.Return<ActiveConf, never, Scope.Scope> {
  let list: Listed | null = null
  let readAt = 0
  const read = Effect.fn("pawapay.activeConf")(function* () {
    const { countries: all } = yield* get(ActiveConfAnswer, "active_conf", "/active-conf")
    const countries = yield* readableRows(name, "active_conf", ActiveCountry, all)
    // An empty list is ignored, because it would close everything. A network whose row is missing keeps its last state.
    if (countries.length > 0) {
      list = listed(countries, countries.length === all.length, list)
      readAt = yield* Clock.currentTimeMillis
    }
    return countries
  })
  const scope = yield* Scope.Scope
  const cache = yield* Cache.make<"conf", void>({
    lookup: () => Effect.asVoid(Effect.option(read())),
    capacity: 1,
    timeToLive: FRESH_FOR
  })
  let asking: { readonly answer: Fiber.Fiber<void>; readonly since: number } | null = null
  const current = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (asking === null || asking.answer.pollUnsafe() !== undefined)
      asking = { answer: yield* Effect.forkIn(Cache.get(cache, "conf"), scope), since: now }
    const left = asking.since + WAIT_AT_MOST_MS - now
    // A later caller waits no longer than the first one, so that a read of many networks is delayed only once.
    if (left > 0) yield* Effect.timeoutOption(Fiber.await(asking.answer), left)
    return list && saidIn(list, (yield* Clock.currentTimeMillis) - readAt > BELIEVED_FOR_MS)
  })
  return { read: read(), current, known: () => list && saidIn(list) }
})

const closed: ActiveLimits = { availability: "down", minimum: null, maximum: null, decimals: null }

/** The last state of each network. `isWhole`: a network that is not among them is closed for this account. */
interface Listed {
  readonly networks: ReadonlyMap<string, ReadonlyMap<string, unknown>>
  readonly isWhole: boolean
}

/** A list that could be parsed completely replaces the one before; otherwise it is merged into it. */
export const listed = (countries: ReadonlyArray<typeof ActiveCountry.Type>, isWhole: boolean, before: Listed | null): Listed => {
  const networks = countries.flatMap(({ providers }) =>
    providers.flatMap(({ currencies, provider }) =>
      currencies.map(({ currency, operationTypes }) => [nameOf(provider, currency), operationsIn(operationTypes)] as const)
    )
  )
  return isWhole || before === null
    ? { networks: new Map(networks), isWhole }
    : { networks: new Map([...before.networks, ...networks]), isWhole: before.isWhole }
}

/** In an old list, amounts and decimals remain valid, but closures do not. */
export const saidIn =
  ({ isWhole, networks }: Listed, isOld = false): Said =>
  (network, kind, currency) => {
    const operations = networks.get(nameOf(network, currency))
    if (operations === undefined && !isWhole) return undefined
    const operation = operations?.get(operationNames[kind])
    if (operation === undefined) return isOld ? undefined : closed
    return { ...limitsIn(operation, currency), ...(isOld && { availability: "operational" as const }) }
  }

const nameOf = (network: string, currency: string): string => `${network} ${currency}`

const operationNames = { payout: "PAYOUT", collection: "DEPOSIT" } as const satisfies Record<PaymentKind, string>

type OperationTypes = (typeof ActiveCountry.Type)["providers"][number]["currencies"][number]["operationTypes"]

/** `operationTypes` is a record by operation. In pawaPay's reference it is a list of rows with a name and of such records. */
export const operationsIn = (types: OperationTypes): ReadonlyMap<string, unknown> =>
  new Map((isList(types) ? types : [types]).flatMap(namedIn))

const namedIn = (row: Readonly<Record<string, unknown>>): ReadonlyArray<readonly [string, unknown]> =>
  typeof row["operationType"] === "string" ? [[row["operationType"], row]] : Object.entries(row)

const isList = <A>(value: ReadonlyArray<A> | Readonly<Record<string, unknown>>): value is ReadonlyArray<A> => Array.isArray(value)

/** Each member is parsed separately; one that cannot be parsed counts as absent. */
const limitsIn = (raw: unknown, currency: Currency): ActiveLimits => {
  const { decimalsInAmount, maxAmount, maxTransactionLimit, minAmount, minTransactionLimit, status } = membersOf(raw)
  const minimum = boundOf(minAmount ?? minTransactionLimit, (text) => fromDecimalUp(text, currency))
  const maximum = boundOf(maxAmount ?? maxTransactionLimit, (text) => fromDecimalDown(text, currency))
  const isWindow = maximum === null || (maximum > ZERO && (minimum === null || minimum <= maximum))
  return {
    availability: availabilities.get(status) ?? "operational",
    minimum: isWindow ? minimum : null,
    maximum: isWindow ? maximum : null,
    decimals: decimals.get(decimalsInAmount) ?? null
  }
}

const membersOf = (raw: unknown) => Option.getOrElse(readMembers(raw), (): typeof ActiveOperation.Type => ({}))
const readMembers = Schema.decodeUnknownOption(ActiveOperation)

/** An unknown word closes nothing. While a network is DELAYED, pawaPay accepts payouts and holds them without a time limit. */
const availabilities: ReadonlyMap<unknown, Availability> = new Map([
  ["OPERATIONAL", "operational"],
  ["DELAYED", "degraded"],
  ["CLOSED", "down"]
])

const decimals: ReadonlyMap<unknown, Decimals> = new Map([
  ["NONE", 0],
  ["TWO_PLACES", 2]
])

const boundOf = (raw: unknown, read: (text: string) => Result.Result<MinorUnits, "inexact">): MinorUnits | null =>
  Option.getOrNull(Option.flatMap(readAmount(raw), (text) => Result.getSuccess(read(text))))
const readAmount = Schema.decodeUnknownOption(Amount)

/** The amounts of a network are multiples of this. */
export const stepOf = (taken: Decimals, currency: Currency): MinorUnits =>
  taken === 0 ? minor(10n ** BigInt(exponents[currency])) : minor(1n)
