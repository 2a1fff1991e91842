/** How long answered calls of one kind took, as a histogram that weighs newer answers more, for the usual time of a call. */
export interface AnswerTimes {
  /** By length, shortest first: see `boundOf`. */
  readonly counts: ReadonlyArray<number>
  /** The number of answers seen, up to `LEARNT_FROM`. */
  readonly seen: number
}

/** The bounds of the time after which a call counts as late. */
interface LateBounds {
  readonly atLeastMs: number
  readonly atMostMs: number
}

/** The histogram remembers about this many answers; older ones have faded. */
const REMEMBERED = 500
/** Fewer answers do not show how long the slowest take. */
const LEARNT_FROM = 20
/** The share of the answers that arrive within the usual time. */
const QUANTILE = 0.99
/** A call that takes this many times the usual time is late. */
const BEYOND_USUAL = 1.25
const SHORTEST_MS = 50
/** The ratio of each length to the previous one. */
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

/** When a call in flight becomes late, in milliseconds from its start: the longest time for kinds with few answers so far. */
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
