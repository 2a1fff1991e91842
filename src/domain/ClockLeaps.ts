import type { Instant } from "./Instant.ts"

/** The clock went from `from` to `to` without proof that as much time passed. */
export interface ClockLeap {
  readonly from: Instant
  readonly to: Instant
}

/** At most this many are stored. Beyond it, the two oldest are merged, from the start of the first to the end of the second. */
const KEPT_AT_MOST = 100

/** The leaps without overlaps, oldest first. */
export const withLeap = (leaps: ReadonlyArray<ClockLeap>, leap: ClockLeap): ReadonlyArray<ClockLeap> => {
  const overlaps = ({ from, to }: ClockLeap) => to >= leap.from && from <= leap.to
  const joined = [leap, ...leaps.filter(overlaps)]
  const whole = { from: Math.min(...joined.map(({ from }) => from)), to: Math.max(...joined.map(({ to }) => to)) }
  const all = [...leaps.filter((one) => !overlaps(one)), whole].toSorted((a, b) => a.from - b.from)
  const [first, second, ...rest] = all
  if (first === undefined || second === undefined || all.length <= KEPT_AT_MOST) return all
  return [{ from: first.from, to: second.to }, ...rest]
}

/**
 * The least time that has passed between two readings of the clock, in milliseconds. Every moment that no leap skipped really
 * passed once, or more than once where the clock was set back.
 */
export const passedAtLeast = (leaps: ReadonlyArray<ClockLeap>, since: Instant, now: Instant): number =>
  leaps.reduce((passed, { from, to }) => passed - Math.max(0, Math.min(to, now) - Math.max(from, since)), now - since)
