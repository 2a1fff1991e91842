import type { Preference } from "./Corridor.ts"
import type { Instant } from "./Instant.ts"
import type { RouteResult } from "./RouteResult.ts"

/** The time whose payments a success rate is of. */
export const LOOK_BACK_MS = 60 * 60_000
/** A rate of fewer payments says nothing. */
export const SAMPLE_AT_LEAST = 30
/** A provider goes ahead of another one only where its rate is higher by as much. */
export const AHEAD_BY = 0.05
/**
 * No price that a tenant was shown lives longer. An order by success stays for as long as that, and so long nobody pays more than by the order before it.
 */
export const PRICE_KEPT_MS = 31 * 60_000

/** The payments of the last hour that say something about a provider. */
export interface RouteSuccess {
  readonly successful: number
  /** Those of a provider's own failures: it refused or failed them, did not answer, or could not be reached. */
  readonly failed: number
}

/** The success that the counts of one provider come to. Failures of customers are left out. */
export const successOf = (counts: ReadonlyArray<{ readonly result: RouteResult; readonly count: number }>): RouteSuccess => {
  const sum = (...results: ReadonlyArray<RouteResult>) =>
    counts.reduce((total, { count, result }) => (results.includes(result) ? total + count : total), 0)
  return { successful: sum("successful"), failed: sum("failed", "silent", "not_sent") }
}

export type SuccessByProvider = ReadonlyMap<string, RouteSuccess>

/** Null where there are too few to say. */
const rateOf = (success: RouteSuccess | undefined): number | null => {
  const { failed, successful } = success ?? { failed: 0, successful: 0 }
  return successful + failed < SAMPLE_AT_LEAST ? null : successful / (successful + failed)
}

/**
 * The providers by their success, from the order that they have now. One of which too little is known stands where the row has it: it overtakes nobody and
 * is overtaken by nobody, and so one that went back is tried again once its failures are an hour old. The others change places only where
 * the one behind is clearly better.
 */
export const orderedBySuccess = (
  configured: ReadonlyArray<string>,
  present: ReadonlyArray<string>,
  success: SuccessByProvider
): ReadonlyArray<string> => {
  const rates = new Map(configured.map((name) => [name, rateOf(success.get(name))]))
  const known: Array<readonly [name: string, rate: number]> = present.flatMap((name) => {
    const rate = rates.get(name) ?? null
    return rate === null ? [] : [[name, rate] as const]
  })
  // Each exchange puts a better one ahead of a worse one, so that they end.
  for (let isMoved = true; isMoved; ) {
    isMoved = false
    for (const [place, [, rate]] of known.entries()) {
      const [ahead, behind] = [known[place - 1], known[place]]
      if (ahead === undefined || behind === undefined || rate - ahead[1] < AHEAD_BY) continue
      known.splice(place - 1, 2, behind, ahead)
      isMoved = true
    }
  }
  const names = known.map(([name]) => name)
  return configured.map((name) => (rates.get(name) === null ? name : (names.shift() ?? name)))
}

/** The order of the providers of a corridor and network by their success, which all nodes share. */
export interface RouteOrder {
  /** The row's own order, of which it was made: of another one it says nothing. */
  readonly configured: ReadonlyArray<string>
  readonly providers: ReadonlyArray<string>
  /** The order before it. */
  readonly previous: ReadonlyArray<string>
  readonly changedAt: Instant
}

/** The order that takes the place of the one before; null where that one stays. */
export const nextRouteOrder = (
  row: ReadonlyArray<string>,
  before: RouteOrder | null,
  success: SuccessByProvider,
  now: Instant
): RouteOrder | null => {
  const configured = [...new Set(row)]
  const present = before !== null && isSame(before.configured, configured) ? before : null
  if (present !== null && now - present.changedAt < PRICE_KEPT_MS) return null
  const previous = present?.providers ?? configured
  const providers = orderedBySuccess(configured, previous, success)
  return isSame(providers, previous) ? null : { configured, providers, previous, changedAt: now }
}

export const isSame = (one: ReadonlyArray<string>, other: ReadonlyArray<string>): boolean =>
  one.length === other.length && one.every((name, place) => name === other[place])

/** The providers of one payment in their order. */
export interface Ranking {
  readonly providers: ReadonlyArray<string>
  /** Of these the cheapest goes first: all, or the first ones by the order of now and by the one before. */
  readonly compared: ReadonlyArray<string>
  /** Until then a price of the order before it holds; null where none does. */
  readonly keptUntil: Instant | null
}

/** As the row has them. */
export const asConfigured = (able: ReadonlyArray<string>): Ranking => ({ providers: able, compared: [], keptUntil: null })

/** The ranking of those that are able to serve a payment. It only reorders them. */
export const rankingOf = (
  able: ReadonlyArray<string>,
  preference: Preference,
  order: RouteOrder | null,
  now: Instant
): Ranking => {
  if (able.length < 2 || preference === "order") return asConfigured(able)
  if (preference === "price") return { providers: able, compared: able, keptUntil: null }
  if (order === null) return asConfigured(able)
  const inOrder = (names: ReadonlyArray<string>) => names.filter((name) => able.includes(name))
  const providers = [...new Set([...inOrder(order.providers), ...able])]
  const keptUntil = order.changedAt + PRICE_KEPT_MS
  const [first] = providers
  const [before] = inOrder(order.previous)
  if (now >= keptUntil || first === undefined || before === undefined || before === first)
    return { providers, compared: [], keptUntil: null }
  return { providers: [...new Set([first, before, ...providers])], compared: [first, before], keptUntil }
}

/** A price in one currency, and what arrives for it in another one. */
export interface ComparedPrice {
  readonly total: bigint
  readonly arrives: bigint
}

/** The same ones, those with a price in the places that they have, the cheapest first; at the same price they stay as they are. */
export const cheapestFirst = <One>(all: ReadonlyArray<One>, priceOf: (one: One) => ComparedPrice | null): ReadonlyArray<One> => {
  const priced = all.flatMap((one) => {
    const price = priceOf(one)
    return price === null ? [] : [{ one, price }]
  })
  // More arrives for each unit that leaves. A reduced amount, a fixed source and a fixed destination are compared alike.
  const sorted = priced.toSorted(({ price: a }, { price: b }) => {
    const [mine, theirs] = [a.arrives * b.total, b.arrives * a.total]
    return mine === theirs ? 0 : mine > theirs ? -1 : 1
  })
  return all.map((one) => (priceOf(one) === null ? one : (sorted.shift()?.one ?? one)))
}

/** `98 % of 240`, rounded down; `too few (12)` where that says nothing. */
export const successText = (success: RouteSuccess): string => {
  const all = success.successful + success.failed
  return all < SAMPLE_AT_LEAST ? `too few, ${all}` : `${Math.floor((success.successful * 100) / all)} % of ${all}`
}
