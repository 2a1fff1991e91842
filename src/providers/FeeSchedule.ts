import { readFileSync } from "node:fs"
import { DateTime, Option, Result } from "effect"
import type { Rule } from "../ConfigRules.ts"
import { Direction, Method } from "../domain/Corridor.ts"
import { Currency } from "../domain/Currency.ts"
import { type Instant, instantOf } from "../domain/Instant.ts"
import { LARGEST_AMOUNT } from "../domain/Money.ts"
import { isJsonObject, type JsonObject, type JsonTree, NumberLiteral, parseStrict } from "../http/json/StrictJson.ts"
import { type ContractFees, collectionFee, type FeeBand, type FeeEntry, feeKeys, payoutFees, shareOf } from "./ContractFees.ts"

/** A country, currency and method in which a provider moves money, with its networks there, if the method has any. */
export interface FeePlace {
  readonly country: string
  readonly currency: Currency
  readonly method: Method
  readonly networks: ReadonlyArray<string>
}

/** Where a provider's payments need a contract fee. A direction whose fees the provider's responses name is absent. */
export type PricedPlaces = { readonly [D in Direction]?: ReadonlyArray<FeePlace> }

/** For a provider with one mobile-money network whose responses name no fee. */
export const pricedNetwork = (network: string, places: ReadonlyArray<Pick<FeePlace, "country" | "currency">>): PricedPlaces => {
  const priced = places.map(({ country, currency }): FeePlace => ({ country, currency, method: "momo", networks: [network] }))
  return { payout: priced, collection: priced }
}

export interface ProviderContract {
  readonly places: PricedPlaces
  readonly fees: ContractFees
}

const FEE_SCHEDULE = "FEE_SCHEDULE"
const PAYOUT_FEES = "PAYOUT_FEES"
const COLLECTION_FEE = "COLLECTION_FEE"

/** The plain settings that a contract needs when it has no schedule. */
export const missingFees = (places: PricedPlaces = {}, has: (part: string) => boolean): ReadonlyArray<string> => {
  const needed = [...(places.payout ? [PAYOUT_FEES] : []), ...(places.collection ? [COLLECTION_FEE] : [])]
  return has(FEE_SCHEDULE) ? [] : needed.filter((part) => !has(part))
}

/**
 * The fees of a provider's contract. `<PROVIDER>_FEE_SCHEDULE` names a file; when none of its entries applies,
 * `<PROVIDER>_PAYOUT_FEES` and `<PROVIDER>_COLLECTION_FEE` do.
 */
export const contractFeesOf = (
  { shared }: { readonly shared: <A>(part: string, rule: Rule<A>) => A | null },
  places: PricedPlaces
): ContractFees => [
  ...(shared(FEE_SCHEDULE, feeSchedule(places)) ?? []),
  ...(places.payout === undefined ? [] : (shared(PAYOUT_FEES, payoutFees) ?? [])),
  ...(places.collection === undefined ? [] : (shared(COLLECTION_FEE, collectionFee) ?? []))
]

/** A JSON file with a list of entries. It is read once, when the process starts. */
const feeSchedule = (places: PricedPlaces): Rule<ContractFees> => ({
  meaning: "a file with a schedule of fees",
  of: (path) => Result.getOrUndefined(Result.flatMap(bytesOf(path), (bytes) => readSchedule(bytes, places))),
  mistakes: (path) =>
    Result.match(
      Result.flatMap(bytesOf(path), (bytes) => readSchedule(bytes, places)),
      { onFailure: (all) => all, onSuccess: () => [] }
    )
})

type Mistakes = ReadonlyArray<string>

const bytesOf = (path: string): Result.Result<Uint8Array, Mistakes> => {
  try {
    return Result.succeed(readFileSync(path))
  } catch {
    return Result.fail([`there is no file ${path} that can be read`])
  }
}

/** All entries of a schedule, or all its mistakes: sentences that begin with the name of the entry. */
export const readSchedule = (bytes: Uint8Array, places: PricedPlaces): Result.Result<ContractFees, Mistakes> => {
  const tree = parseStrict(bytes)
  if (Result.isFailure(tree)) return Result.fail([tree.failure.replace("The body", "the file").replace(/\.$/, "")])
  if (!isList(tree.success) || tree.success.length === 0) return Result.fail(["the file is no list of entries"])
  const mistakes: Array<string> = []
  const entries = tree.success.flatMap((item, index) => {
    const name = nameOf(index + 1, item)
    const own: Array<string> = []
    const entry = isJsonObject(item) ? entryOf(name, item, { places, say: (one) => own.push(one) }) : own.push("is no object")
    mistakes.push(...own.map((one) => `${name} ${one}`))
    return typeof entry === "number" || own.length > 0 ? [] : [entry]
  })
  const all = [...mistakes, ...conflictsIn(entries)]
  return all.length === 0 ? Result.succeed(entries) : Result.fail(all)
}

const isList = (tree: JsonTree | undefined): tree is ReadonlyArray<JsonTree> => Array.isArray(tree)

const nameOf = (number: number, item: JsonTree): string => {
  const said = isJsonObject(item) ? ["direction", "currency", ...feeKeys, "from"].map((key) => item[key]) : []
  return [`entry ${number}`, ...said.filter((one) => typeof one === "string")].join(" ")
}

interface Reading {
  readonly places: PricedPlaces
  /** Reports a mistake; the text continues the name of the entry. */
  readonly say: (mistake: string) => unknown
}

/** Whether a payout's fee is refunded when the payout is returned. */
const RETURNS = "fee_on_return"
const OWN = ["direction", "currency", ...feeKeys, "from", "bands", RETURNS]
const PRICE = ["percent", "flat", "minimum", "maximum"]

const entryOf = (name: string, item: JsonObject, reading: Reading): FeeEntry => {
  onlyKnown(item, [...OWN, ...PRICE], reading)
  const read = <A extends string>(member: string, words: ReadonlyArray<A>) => oneOf(item, member, words, reading)
  const key = (member: string) => (item[member] === undefined ? null : (text(item, member, reading) ?? null))
  const direction = read("direction", Direction.literals)
  const currency = read("currency", Currency.literals)
  const method = item["method"] === undefined ? null : (read("method", Method.literals) ?? null)
  const place = { country: key("country"), method, network: key("network") }
  if (direction !== undefined && currency !== undefined) checkPlace(direction, { ...place, currency }, reading)
  return {
    name,
    direction: direction ?? "payout",
    currency: currency ?? null,
    ...place,
    from: beginningOf(item, reading),
    ...returnsOf(item, direction, reading),
    bands: bandsOf(item, reading)
  }
}

const onlyKnown = (item: JsonObject, known: ReadonlyArray<string>, { say }: Reading): void => {
  for (const member of Object.keys(item).filter((one) => !known.includes(one)))
    say(`has a member ${JSON.stringify(member)}: it may have ${known.join(", ")}`)
}

const text = (item: JsonObject, member: string, { say }: Reading): string | undefined => {
  const value = item[member]
  if (typeof value === "string" && value !== "") return value
  say(value === undefined ? `has no ${member}` : `has a ${member} that is no text`)
  return undefined
}

const oneOf = <A extends string>(item: JsonObject, member: string, words: ReadonlyArray<A>, reading: Reading): A | undefined => {
  const given = text(item, member, reading)
  const found = words.find((one) => one === given)
  if (given !== undefined && found === undefined)
    reading.say(`has the ${member} ${JSON.stringify(given)}: it is one of ${words.join(", ")}`)
  return found
}

/** By default the fee is not refunded. A collection is reversed by an operator only, who says what the provider kept. */
const returnsOf = (item: JsonObject, direction: Direction | undefined, reading: Reading): Pick<FeeEntry, "returns"> => {
  if (item[RETURNS] === undefined) return {}
  if (direction === "collection") reading.say(`has a ${RETURNS}: only a payout's fee comes back by itself`)
  return oneOf(item, RETURNS, ["stays", "returns"], reading) === "returns" ? { returns: true } : {}
}

type Place = Pick<FeeEntry, "country" | "method" | "network"> & { readonly currency: Currency }

/** An entry that can match no payment is a mistake. */
const checkPlace = (direction: Direction, place: Place, { say, places }: Reading): void => {
  const priced = places[direction]
  if (priced === undefined) return void say(`has no effect: the provider's answers name the fee of a ${direction}`)
  let left = priced
  const narrow = (member: string, value: string | null, of: (one: FeePlace) => ReadonlyArray<string>) => {
    if (value === null || left.length === 0) return
    const known = [...new Set(left.flatMap(of))].sort()
    left = left.filter((one) => of(one).includes(value))
    if (left.length > 0) return
    say(
      `has the ${member} ${JSON.stringify(value)}: with what it says before that, the provider has ${known.join(", ") || "none"}`
    )
  }
  narrow("currency", place.currency, ({ currency }) => [currency])
  narrow("country", place.country, ({ country }) => [country])
  narrow("method", place.method, ({ method }) => [method])
  narrow("network", place.network, ({ networks }) => networks)
}

const DAY = /^\d{4}-\d{2}-\d{2}$/
const MOMENT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(Z|[+-]\d{2}:\d{2})$/
const HOW_LONG_A_DAY_IS = "2026-12-01".length

/** A UTC day, of which it takes the start, or a time with its offset. */
const beginningOf = (item: JsonObject, reading: Reading): Instant => {
  const given = text(item, "from", reading)
  if (given === undefined) return 0
  const day = instantOf(`${given.slice(0, HOW_LONG_A_DAY_IS)}T00:00:00Z`)
  const at = DAY.test(given) ? day : MOMENT.test(given) ? Option.map(DateTime.make(given), DateTime.toEpochMillis) : Option.none()
  if (Option.isNone(day) || Option.isNone(at))
    reading.say(
      `has the from ${JSON.stringify(given)}: it is a UTC day such as 2026-12-01, or a moment such as 2026-12-01T00:00:00+03:00`
    )
  return Option.getOrElse(at, () => 0)
}

/** One price for all amounts, or one for each band of them. */
const bandsOf = (item: JsonObject, reading: Reading): ReadonlyArray<FeeBand> => {
  const { bands } = item
  if (bands === undefined) return [bandOf(item, "", reading)]
  const beside = PRICE.filter((member) => item[member] !== undefined)
  if (beside.length > 0) reading.say(`has bands and ${beside.join(", ")}: each band has its own`)
  if (!isList(bands) || bands.length === 0) {
    reading.say("has bands that are no list of bands")
    return []
  }
  const read = bands.map((band, index) => {
    const name = `band ${index + 1} `
    if (isJsonObject(band)) {
      onlyKnown(band, ["up_to", ...PRICE], { ...reading, say: (one) => reading.say(`${name}${one}`) })
      return bandOf(band, name, reading)
    }
    reading.say(`${name}is no object`)
    return null
  })
  const whole = read.filter((band) => band !== null)
  for (const [index, { upTo }] of whole.entries()) {
    const before = whole[index - 1]?.upTo ?? 0n
    const isLast = index === whole.length - 1
    if (isLast && upTo !== null)
      reading.say(`band ${index + 1} ends at ${upTo}: the last has no up_to, or amounts above it would cost nothing`)
    if (!isLast && upTo === null) reading.say(`band ${index + 1} has no up_to: only the last has none`)
    if (upTo !== null && upTo <= before)
      reading.say(`band ${index + 1} ends at ${upTo}, and the one before it at ${before}: they rise`)
  }
  return whole
}

const bandOf = (item: JsonObject, name: string, { say }: Reading): FeeBand => {
  const units = (member: string): bigint | null => {
    const value = item[member]
    if (value === undefined) return null
    const digits = value instanceof NumberLiteral ? value.source : ""
    if (/^\d{1,16}$/.test(digits) && BigInt(digits) <= LARGEST_AMOUNT) return BigInt(digits)
    say(`${name}has a ${member} that is no whole number of minor units, zero or more`)
    return 0n
  }
  const { percent } = item
  const share = percent === undefined ? 0n : typeof percent === "string" ? shareOf(percent) : undefined
  if (share === undefined) say(`${name}has a percent that is no text such as "1.5", from 0 to 100 with at most six decimals`)
  const [flat, minimum, maximum] = [units("flat"), units("minimum"), units("maximum")]
  if (percent === undefined && flat === null) say(`${name}has neither percent nor flat: what costs nothing says "flat": 0`)
  if (maximum !== null && (minimum ?? 0n) > maximum)
    say(`${name}has the minimum ${minimum}, which is more than its maximum ${maximum}`)
  return { upTo: units("up_to"), share: share ?? 0n, flat: flat ?? 0n, minimum: minimum ?? 0n, maximum }
}

/** Pairs of entries that nothing decides between: both could apply, equally specific, from the same time. */
const conflictsIn = (entries: ContractFees): Mistakes =>
  entries.flatMap((one, index) =>
    entries.slice(0, index).flatMap((other) => {
      if (one.direction !== other.direction || one.currency !== other.currency) return []
      const pairs = feeKeys.map((key) => [one[key], other[key]] as const)
      if (pairs.some(([a, b]) => a !== null && b !== null && a !== b)) return []
      const isMore = pairs.some(([own, their]) => own !== null && their === null)
      const isLess = pairs.some(([own, their]) => own === null && their !== null)
      if (isMore && isLess) return [`${one.name} and ${other.name} can both hold for one payment, and neither says more of it`]
      return isMore || isLess || one.from !== other.from
        ? []
        : [`${one.name} and ${other.name} hold for the same from the same moment on`]
    })
  )
