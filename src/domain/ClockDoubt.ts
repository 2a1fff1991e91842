import { type Instant, iso } from "./Instant.ts"

// Rows are deleted by age, and the database's clock decides their age: it is trusted only while no evidence speaks against it.

/** The clocks of one installation may differ by this much without being considered wrong. */
export const CLOCKS_DIFFER_AT_MOST_MS = 10_000
/** If no gateway ran for longer than this, the passing of time and a changed clock cannot be distinguished. */
export const UNWATCHED_AT_MOST_MS = 7 * 24 * 3_600_000

/** The two clocks of one machine: the time of day, which can be set, and the uptime, which cannot and counts suspensions too. */
export interface MachineClocks {
  readonly timeOfDay: Instant
  readonly uptimeMs: number
}

/** The database's time, read at some moment between `asked` and `answered`. */
export interface ClockReading {
  readonly database: Instant
  readonly asked: MachineClocks
  readonly answered: MachineClocks
}

export interface ClockEvidence {
  /** The previous reading of this process; null before its first one, and after an operator confirmed the clock. */
  readonly before: ClockReading | null
  /** The latest time that any gateway has trusted; null on a database that none has checked yet. */
  readonly trustedUntil: Instant | null
  /** The name of this machine, so that the operator can find it. */
  readonly machine: string
}

/** Why the database's clock cannot be trusted, as a clause; null where it can. A slow answer never raises a doubt. */
export const clockDoubt = (reading: ClockReading, { before, machine, trustedUntil }: ClockEvidence): string | null =>
  (before === null ? null : jump(before, reading)) ?? difference(reading, machine) ?? gap(reading.database, trustedUntil)

const jump = (before: ClockReading, { answered, asked, database }: ClockReading): string | null => {
  const passed = database - before.database
  const ahead = passed - (answered.uptimeMs - before.asked.uptimeMs)
  const behind = asked.uptimeMs - before.answered.uptimeMs - passed
  if (ahead > CLOCKS_DIFFER_AT_MOST_MS) return `the database's clock went forward by ${span(ahead)} more than time passed`
  return behind > CLOCKS_DIFFER_AT_MOST_MS ? `the database's clock fell back by ${span(behind)}` : null
}

/** The gateway cannot know which clock is wrong: a promoted standby may share one with the gateways on its machine. */
const difference = ({ answered, asked, database }: ClockReading, machine: string): string | null => {
  const ahead = database - answered.timeOfDay
  const behind = asked.timeOfDay - database
  if (ahead > CLOCKS_DIFFER_AT_MOST_MS) return `the database's clock is ${span(ahead)} ahead of the clock of ${machine}`
  return behind > CLOCKS_DIFFER_AT_MOST_MS ? `the database's clock is ${span(behind)} behind the clock of ${machine}` : null
}

const gap = (database: Instant, trustedUntil: Instant | null): string | null => {
  if (trustedUntil === null) return null
  const behind = trustedUntil - database
  if (behind > CLOCKS_DIFFER_AT_MOST_MS)
    return `the database's clock is ${span(behind)} behind ${iso(trustedUntil)}, which it had reached`
  return -behind > UNWATCHED_AT_MOST_MS
    ? `no gateway has vouched for the database's clock for ${span(-behind)}, since ${iso(trustedUntil)}: none ran, or the clock is ahead`
    : null
}

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

const span = (ms: number): string => {
  if (ms >= 2 * DAY_MS) return `${(ms / DAY_MS).toFixed(1)} days`
  return ms >= 2 * HOUR_MS ? `${(ms / HOUR_MS).toFixed(1)} hours` : `${(ms / 1000).toFixed(1)} s`
}
