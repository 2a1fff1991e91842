import type { Preference } from "./Corridor.ts"
import type { Instant } from "./Instant.ts"
import type { RouteResult } from "./RouteResult.ts"

/** The period whose payments a success rate is computed from. */
export const LOOK_BACK_MS = 60 * 60_000
/** A rate of fewer payments is not significant. */
export const SAMPLE_AT_LEAST = 30
/** For an overtaken provider fewer payments are enough, because it gets only its trials. */
export const TRIAL_SAMPLE_AT_LEAST = 10
/** A provider overtakes one that is before it in the row only if its rate is higher by at least this. */
export const AHEAD_BY = 0.05
/** A provider with too few payments is assumed to have this rate, so that it is tried instead of one that fails more. */
const UNKNOWN_RATE = 0.7
/** At the end of each interval, an overtaken provider goes first for this long, whatever its rate: for 1 of 30 payments. */
export const TRIAL_MS = 60_000
export const TRIAL_EVERY_MS = 30 * 60_000
/** For this long an overtaken provider's failures count against it when its trials were too few to be significant. */
export const OVERTAKEN_MS = 48 * 3_600_000
/** No shown price lives longer. An order by success stays at least this long: meanwhile nobody pays more than before it. */
export const PRICE_KEPT_MS = 31 * 60_000

/** The payments of the last hour that say something about a provider. */
export interface RouteSuccess {
  readonly successful: number
  /** Payments that failed because of the provider: it refused or failed them, or could not be reached. */
  readonly failed: number
}

/**
 * The success that the counts of one provider add up to. Each payment counts once: by its final outcome, or as one that never
 * left. A payment without an answer when it was sent counts once it has ended. Failures of customers are left out.
 */
export const successOf = (counts: ReadonlyArray<{ readonly result: RouteResult; readonly count: number }>): RouteSuccess => {
  const sum = (...results: ReadonlyArray<RouteResult>) =>
    counts.reduce((total, { count, result }) => (results.includes(result) ? total + count : total), 0)
  return { successful: sum("successful"), failed: sum("failed", "not_sent") }
}

export type SuccessByProvider = ReadonlyMap<string, RouteSuccess>

/** Null where there are too few. */
const rateOf = (success: RouteSuccess | undefined, atLeast: number): number | null => {
  const { failed, successful } = success ?? { failed: 0, successful: 0 }
  return successful + failed < atLeast ? null : successful / (successful + failed)
}

/** The providers that now stand behind one that the row has after them. */
const overtakenIn = (configured: ReadonlyArray<string>, present: ReadonlyArray<string>): ReadonlyArray<string> =>
  configured.filter((name, place) => present.slice(0, present.indexOf(name)).some((one) => configured.indexOf(one) > place))

/**
 * The providers ordered by success, starting from their present order. One overtakes another only where the other's rate is
 * known and clearly worse; a provider with too few payments is assumed to be at `UNKNOWN_RATE`. An overtaken one goes back once
 * its own payments show that it is as good, and overtakes no other before that.
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
  // Two that changed places do not change back at the same rates, so this loop ends.
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

/** The order of the providers of a corridor and network by success, which all nodes share. */
export interface RouteOrder {
  /** The row's own order that it was computed from. It does not apply to another one. */
  readonly configured: ReadonlyArray<string>
  readonly providers: ReadonlyArray<string>
  /** The order before this one. */
  readonly previous: ReadonlyArray<string>
  readonly changedAt: Instant
}

/** The order that replaces the previous one; null where that one stays. */
export const nextRouteOrder = (
  row: ReadonlyArray<string>,
  before: RouteOrder | null,
  success: SuccessByProvider,
  now: Instant
): RouteOrder | null => {
  const configured = [...new Set(row)]
  const present = before !== null && isSame(before.configured, configured) ? before : null
  // The order does not change during a trial: a price that is shown in the trial expires with it.
  if (present !== null && trialAt(present, now) !== null) return null
  const previous = present?.providers ?? configured
  const from = present !== null && now - present.changedAt >= OVERTAKEN_MS ? configured : previous
  const providers = orderedBySuccess(configured, from, success, overtakenIn(configured, previous))
  if (isSame(providers, previous)) return null
  const isKept = present !== null && now - present.changedAt < PRICE_KEPT_MS
  if (isKept && !endsReturn(present, providers, success)) return null
  return { configured, providers, previous, changedAt: now }
}

/** Whether a provider that came back fails again. Every price shown meanwhile is its own or that of the one before it. */
const endsReturn = (present: RouteOrder, next: ReadonlyArray<string>, success: SuccessByProvider): boolean => {
  const [returned = "", first = ""] = [present.providers[0], next[0]]
  const rate = rateOf(success.get(returned), SAMPLE_AT_LEAST)
  const isBack = present.configured.indexOf(returned) < present.configured.indexOf(first)
  return isBack && first === present.previous[0] && rate !== null && rate < UNKNOWN_RATE - AHEAD_BY
}

/** The overtaken provider that has its trial now, and the trial's end; null outside of one. Derived from the shared order. */
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
  /** The providers of which the cheapest goes first: all of them, or the first of the present and of the previous order. */
  readonly compared: ReadonlyArray<string>
  /** Until then a price of the previous order, or of a trial, is valid; null where none is. */
  readonly keptUntil: Instant | null
}

/** In the row's order. */
const asConfigured = (able: ReadonlyArray<string>): Ranking => ({ providers: able, compared: [], keptUntil: null })

/** The ranking of the providers that are able to serve a payment. It only reorders them. */
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
  // It goes first where it is no more expensive. A quote that is given in the trial expires with it.
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

/** The items with a price are sorted among the places that they occupy, the cheapest first; equal prices keep their order. */
export const cheapestFirst = <One>(all: ReadonlyArray<One>, priceOf: (one: One) => ComparedPrice | null): ReadonlyArray<One> => {
  const priced = all.flatMap((one) => {
    const price = priceOf(one)
    return price === null ? [] : [{ one, price }]
  })
  // The cheapest lets the most arrive per unit that leaves, so reduced amounts and fixed sources or destinations compare alike.
  const sorted = priced.toSorted(({ price: a }, { price: b }) => {
    const [mine, theirs] = [a.arrives * b.total, b.arrives * a.total]
    return mine === theirs ? 0 : mine > theirs ? -1 : 1
  })
  return all.map((one) => (priceOf(one) === null ? one : (sorted.shift()?.one ?? one)))
}

/** `98 % of 240`, rounded down; `too few, 12` where that is not significant. */
export const successText = (success: RouteSuccess): string => {
  const all = success.successful + success.failed
  return all < SAMPLE_AT_LEAST ? `too few, ${all}` : `${Math.floor((success.successful * 100) / all)} % of ${all}`
}
