import type { Instant } from "./Instant.ts"

/** The clock went from the one time to the other, without proof that as much time passed. */
export interface ClockLeap {
  readonly from: Instant
  readonly to: Instant
}

/** More are not kept: the two oldest become one, from the beginning of the first to the end of the second. */
const KEPT_AT_MOST = 100

/** The leaps without overlap, the oldest first. */
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
 * So much time has passed at least between two readings of the clock, in milliseconds. Every moment that no leap skipped was lived through once,
 * or more often where the clock was set back.
 */
export const passedAtLeast = (leaps: ReadonlyArray<ClockLeap>, since: Instant, now: Instant): number =>
  leaps.reduce((passed, { from, to }) => passed - Math.max(0, Math.min(to, now) - Math.max(from, since)), now - since)
