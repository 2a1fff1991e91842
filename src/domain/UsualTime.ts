/**
 * How long the answered calls of one kind took: how many answers there were of each length, of which newer ones count more. It is what the
 * usual time of a call is taken from.
 */
export interface AnswerTimes {
  /** By length, shortest first: see `boundOf`. */
  readonly counts: ReadonlyArray<number>
  /** All that were seen, up to `LEARNT_FROM`. */
  readonly seen: number
}

/** The shortest and the longest time that a call may be given before it counts as late. */
export interface LateBounds {
  readonly atLeastMs: number
  readonly atMostMs: number
}

/** An answer counts among about so many: one that is older has faded. */
const REMEMBERED = 500
/** Fewer answers say nothing of the longest ones. */
const LEARNT_FROM = 20
/** The share of the answers that come within the usual time. */
const QUANTILE = 0.99
/** An answer that takes this many times the usual is none that is awaited any more. */
const BEYOND_USUAL = 1.25
const SHORTEST_MS = 50
/** Each length is at most so many times the one before it. */
const STEP = 1.2
const LENGTHS = 40

const boundOf = (length: number): number => SHORTEST_MS * STEP ** length

const lengthOf = (ms: number): number =>
  Math.min(Math.max(Math.ceil(Math.log(ms / SHORTEST_MS) / Math.log(STEP)), 0), LENGTHS - 1)

export const noAnswers: AnswerTimes = { counts: Array<number>(LENGTHS).fill(0), seen: 0 }

export const withAnswer = ({ counts, seen }: AnswerTimes, tookMs: number): AnswerTimes => {
  const at = lengthOf(tookMs)
  return {
    counts: counts.map((count, length) => count * (1 - 1 / REMEMBERED) + (length === at ? 1 : 0)),
    seen: Math.min(seen + 1, LEARNT_FROM)
  }
}

/** From when on a call in flight is late. Nothing is known of calls that were hardly ever answered: they get the longest time. */
export const lateAfterMs = ({ counts, seen }: AnswerTimes, { atLeastMs, atMostMs }: LateBounds): number => {
  if (seen < LEARNT_FROM) return Math.max(atLeastMs, atMostMs)
  const all = counts.reduce((sum, count) => sum + count, 0)
  let sum = 0
  const usual = counts.findIndex((count) => {
    sum += count
    return sum >= all * QUANTILE
  })
  return Math.max(atLeastMs, Math.min(Math.round(boundOf(usual) * BEYOND_USUAL), atMostMs))
}
