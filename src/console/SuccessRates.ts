import { NO_FAILURE } from "../domain/FinalOutcome.ts"
import type { Instant } from "../domain/Instant.ts"
import type { PeriodCount } from "../services/ports/PeriodCounts.ts"

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** The periods that a page can show, in equal steps. */
export const lookBacks = {
  hour: { name: "Last hour", stepMs: 5 * MINUTE_MS, steps: 12 },
  day: { name: "Last day", stepMs: HOUR_MS, steps: 24 },
  week: { name: "Last week", stepMs: 6 * HOUR_MS, steps: 28 }
} as const
export type LookBack = keyof typeof lookBacks

/** The transactions that ended in one step. */
export interface RateStep {
  readonly at: Instant
  readonly ended: number
  readonly successful: number
}

/** The transactions of one kind that ended in one corridor at one provider. */
export interface RateLine {
  readonly kind: string
  readonly corridor: string
  readonly provider: string
  readonly ended: number
  readonly successful: number
  /** Consecutive steps, including those in which nothing ended. */
  readonly steps: ReadonlyArray<RateStep>
  /** How the unsuccessful ones ended: the failure code, or the status where there is none, and how many. Most frequent first. */
  readonly others: ReadonlyArray<readonly [how: string, count: number]>
}

/** When the first step begins; the last one is still in progress. */
export const beginOf = (lookBack: LookBack, now: Instant): Instant => {
  const { stepMs, steps } = lookBacks[lookBack]
  return Math.floor(now / stepMs) * stepMs - (steps - 1) * stepMs
}

/** The lines of a period, those with the most transactions first. */
export const rateLines = (counts: ReadonlyArray<PeriodCount>, lookBack: LookBack, now: Instant): ReadonlyArray<RateLine> => {
  const lines = Map.groupBy(counts, ({ corridor, provider, what }) => `${what} ${corridor} ${provider}`)
  return [...lines.values()]
    .flatMap(([first, ...more]) => (first === undefined ? [] : [lineOf([first, ...more], first, { lookBack, now })]))
    .toSorted((one, other) => other.ended - one.ended || (nameOf(one) < nameOf(other) ? -1 : 1))
}

const nameOf = ({ corridor, kind, provider }: RateLine): string => `${kind} ${corridor} ${provider}`

const lineOf = (
  counts: ReadonlyArray<PeriodCount>,
  { corridor, provider, what }: PeriodCount,
  { lookBack, now }: { readonly lookBack: LookBack; readonly now: Instant }
): RateLine => {
  const { stepMs, steps } = lookBacks[lookBack]
  const begin = beginOf(lookBack, now)
  const byStep = Map.groupBy(counts, ({ at }) => at)
  const failed = Map.groupBy(counts.filter(isNotSuccessful), ({ failure, outcome }) =>
    failure === NO_FAILURE ? outcome : failure
  )
  return {
    kind: what,
    corridor,
    provider,
    ended: sum(counts),
    successful: sum(counts.filter(isSuccessful)),
    steps: Array.from({ length: steps }, (_, place) => {
      const at = begin + place * stepMs
      const own = byStep.get(at) ?? []
      return { at, ended: sum(own), successful: sum(own.filter(isSuccessful)) }
    }),
    others: [...failed]
      .map(([how, rows]) => [how, sum(rows)] as const)
      .toSorted(([one, few], [other, many]) => many - few || (one < other ? -1 : 1))
  }
}

const isSuccessful = ({ outcome }: PeriodCount): boolean => outcome === "successful"
const isNotSuccessful = (count: PeriodCount): boolean => !isSuccessful(count)
const sum = (counts: ReadonlyArray<PeriodCount>): number => counts.reduce((total, { count }) => total + count, 0)

/** "98.4 %", rounded down, so that 100 % means all of them. */
export const percent = ({ ended, successful }: Pick<RateStep, "ended" | "successful">): string =>
  ended === 0 ? "none ended" : `${(Math.floor((successful * 1000) / ended) / 10).toFixed(1)} %`
