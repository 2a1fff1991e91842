import type { Preference } from "./Corridor.ts"
import type { Instant } from "./Instant.ts"
import type { RouteResult } from "./RouteResult.ts"

/** The time whose payments a success rate is of. */
export const LOOK_BACK_MS = 60 * 60_000
/** A rate of fewer payments says nothing. */
export const SAMPLE_AT_LEAST = 30
/** Of an overtaken provider fewer are enough: it has its trials alone. */
export const TRIAL_SAMPLE_AT_LEAST = 10
/** A provider goes ahead of one that the row has before it only where its rate is higher by as much. */
export const AHEAD_BY = 0.05
/** A provider of which too little is known is taken to be as good as this, so that it is tried instead of one that fails more. */
export const UNKNOWN_RATE = 0.7
/** An overtaken provider is first for so long at the end of each of these intervals, whatever is known of it: 1 of 30 payments. */
export const TRIAL_MS = 60_000
export const TRIAL_EVERY_MS = 30 * 60_000
/** Its failures are held against an overtaken provider for so long where its trials were too few to say anything. */
export const OVERTAKEN_MS = 48 * 3_600_000
/**
 * No price that a tenant was shown lives longer. An order by success stays for as long as that, and so long nobody pays more than by the order before it.
 */
export const PRICE_KEPT_MS = 31 * 60_000

/** The payments of the last hour that say something about a provider. */
export interface RouteSuccess {
  readonly successful: number
  /** Those of a provider's own failures: it refused or failed them, or could not be reached. */
  readonly failed: number
}

/**
 * The success that the counts of one provider come to, each payment once: by its end, or as one that never left. One that was not answered when it was sent
 * counts once it has ended. Failures of customers are left out.
 */
export const successOf = (counts: ReadonlyArray<{ readonly result: RouteResult; readonly count: number }>): RouteSuccess => {
  const sum = (...results: ReadonlyArray<RouteResult>) =>
    counts.reduce((total, { count, result }) => (results.includes(result) ? total + count : total), 0)
  return { successful: sum("successful"), failed: sum("failed", "not_sent") }
}

export type SuccessByProvider = ReadonlyMap<string, RouteSuccess>

/** Null where there are too few to say. */
const rateOf = (success: RouteSuccess | undefined, atLeast: number): number | null => {
  const { failed, successful } = success ?? { failed: 0, successful: 0 }
  return successful + failed < atLeast ? null : successful / (successful + failed)
}

/** Those that stand behind one that the row has after them. */
export const overtakenIn = (configured: ReadonlyArray<string>, present: ReadonlyArray<string>): ReadonlyArray<string> =>
  configured.filter((name, place) => present.slice(0, present.indexOf(name)).some((one) => configured.indexOf(one) > place))

/**
 * The providers by their success, from the order that they have now. One overtakes another only where that one is known, and clearly worse; one of which too
 * little is known is taken to be at `UNKNOWN_RATE`. An overtaken one goes back where its own payments show that it is as good, and overtakes nobody before.
 */
export const orderedBySuccess = (
  configured: ReadonlyArray<string>,
  present: ReadonlyArray<string>,
  success: SuccessByProvider,
  overtaken: ReadonlyArray<string> = overtakenIn(configured, present)
): ReadonlyArray<string> => {
  const rates = new Map(
    configured.map((name) => {
      const atLeast = overtaken.includes(name) ? TRIAL_SAMPLE_AT_LEAST : SAMPLE_AT_LEAST
      return [name, rateOf(success.get(name), atLeast)] as const
    })
  )
  const goesAhead = (one: string, ahead: string): boolean => {
    const [mine, theirs] = [rates.get(one) ?? null, rates.get(ahead) ?? null]
    if (configured.indexOf(one) < configured.indexOf(ahead)) return mine !== null && mine >= (theirs ?? UNKNOWN_RATE)
    if (theirs === null || (mine === null && overtaken.includes(one))) return false
    return (mine ?? UNKNOWN_RATE) - theirs >= AHEAD_BY
  }
  const ordered = [...present]
  // Two that changed places do not change back at the same rates, so that this ends.
  for (let isMoved = true; isMoved; ) {
    isMoved = false
    for (let place = 1; place < ordered.length; place++) {
      const [ahead, behind] = [ordered[place - 1], ordered[place]]
      if (ahead === undefined || behind === undefined || !goesAhead(behind, ahead)) continue
      ordered.splice(place - 1, 2, behind, ahead)
      isMoved = true
    }
  }
  return ordered
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
  // A price that is shown in a trial ends with it.
  if (present !== null && trialAt(present, now) !== null) return null
  const previous = present?.providers ?? configured
  const from = present !== null && now - present.changedAt >= OVERTAKEN_MS ? configured : previous
  const providers = orderedBySuccess(configured, from, success, overtakenIn(configured, previous))
  if (isSame(providers, previous)) return null
  const isKept = present !== null && now - present.changedAt < PRICE_KEPT_MS
  if (isKept && !endsReturn(present, providers, success)) return null
  return { configured, providers, previous, changedAt: now }
}

/** Whether one that came back fails again. Every price that was shown meanwhile is of it or of the one before, and both go on to be compared. */
const endsReturn = (present: RouteOrder, next: ReadonlyArray<string>, success: SuccessByProvider): boolean => {
  const [returned = "", first = ""] = [present.providers[0], next[0]]
  const rate = rateOf(success.get(returned), SAMPLE_AT_LEAST)
  const isBack = present.configured.indexOf(returned) < present.configured.indexOf(first)
  return isBack && first === present.previous[0] && rate !== null && rate < UNKNOWN_RATE - AHEAD_BY
}

/** The overtaken provider that has its trial now, and the end of it; null outside of trials. All nodes know it from the order that they share. */
export const trialAt = (order: RouteOrder, now: Instant): { readonly provider: string; readonly until: Instant } | null => {
  const since = now - (order.changedAt + PRICE_KEPT_MS)
  const left = TRIAL_EVERY_MS - (since % TRIAL_EVERY_MS)
  if (since < 0 || left > TRIAL_MS) return null
  const overtaken = overtakenIn(order.configured, order.providers)
  const provider = overtaken[Math.floor(since / TRIAL_EVERY_MS) % overtaken.length]
  return provider === undefined ? null : { provider, until: now + left }
}

export const isSame = (one: ReadonlyArray<string>, other: ReadonlyArray<string>): boolean =>
  one.length === other.length && one.every((name, place) => name === other[place])

/** The providers of one payment in their order. */
export interface Ranking {
  readonly providers: ReadonlyArray<string>
  /** Of these the cheapest goes first: all, or the first ones by the order of now and by the one before. */
  readonly compared: ReadonlyArray<string>
  /** Until then a price of the order before it holds, or that of a trial; null where none does. */
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
  const trial = trialAt(order, now)
  // First where it is not dearer. A quote that is given in the trial expires with it.
  if (trial !== null && first !== undefined && first !== trial.provider && able.includes(trial.provider))
    return {
      providers: [...new Set([trial.provider, ...providers])],
      compared: [first, trial.provider],
      keptUntil: trial.until
    }
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
