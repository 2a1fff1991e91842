import { type RouteSuccess, successOf } from "./RoutePreference.ts"
import type { RouteResult } from "./RouteResult.ts"

/** How many payments had this result, none of them after more than `withinMs`; `withinMs` is 0 for a sending. */
interface ResultCount {
  readonly result: RouteResult
  readonly withinMs: number
  readonly count: number
}

/** The same for one provider in one corridor. */
export interface ProviderCount extends ResultCount {
  readonly mode: string
  /** Empty where there is none. */
  readonly network: string
  readonly provider: string
}

export interface RouteFigures {
  /** Payments that were sent there, or were to be. */
  readonly tried: number
  readonly successful: number
  /** Payments that failed for a reason of the provider. */
  readonly failed: number
  /** Payments that failed for a reason of the payer or the recipient. */
  readonly customer: number
  /** Payments without an answer that can be believed when they were sent. */
  readonly unknown: number
  readonly neverSent: number
  /** Half of those that ended, and 19 of 20, took no longer than this; null where none ended. */
  readonly p50Ms: number | null
  readonly p95Ms: number | null
  /** The counts that determine its rank where a corridor prefers success. */
  readonly success: RouteSuccess
}

/** The figures of each provider of a corridor, by mode and network, in their order. */
export const figuresByProvider = (counts: ReadonlyArray<ProviderCount>) =>
  [...Map.groupBy(counts, ({ mode, network, provider }) => `${mode} ${network} ${provider}`)]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([, [first, ...more]]) =>
      first === undefined
        ? []
        : [{ mode: first.mode, network: first.network, provider: first.provider, ...figuresOf([first, ...more]) }]
    )

export const figuresOf = (counts: ReadonlyArray<ResultCount>): RouteFigures => {
  const sum = (...results: ReadonlyArray<RouteResult>) =>
    counts.reduce((total, { count, result }) => (results.includes(result) ? total + count : total), 0)
  return {
    tried: sum("answered", "silent", "not_sent"),
    successful: sum("successful"),
    failed: sum("failed"),
    customer: sum("customer"),
    unknown: sum("silent"),
    neverSent: sum("not_sent"),
    p50Ms: within(counts, 0.5),
    p95Ms: within(counts, 0.95),
    success: successOf(counts)
  }
}

/** The smallest bound within which this share of the ended payments ended. */
const within = (counts: ReadonlyArray<ResultCount>, share: number): number | null => {
  const ended = counts.filter(({ withinMs }) => withinMs > 0).toSorted((one, other) => one.withinMs - other.withinMs)
  const wanted = share * ended.reduce((total, { count }) => total + count, 0)
  let reached = 0
  for (const { count, withinMs } of ended) {
    reached += count
    if (reached >= wanted) return withinMs
  }
  return null
}
