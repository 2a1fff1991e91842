import { type Instant, iso } from "./Instant.ts"

// Rows are removed by their age, and their age is what the database's clock makes it. It is believed only while nothing speaks against it.

/** Clocks of one installation differ by no more than this, and none of them is to blame. */
export const CLOCKS_DIFFER_AT_MOST_MS = 10_000
/** After this long without a gateway, a passed interval and a changed clock look the same. */
export const UNWATCHED_AT_MOST_MS = 7 * 24 * 3_600_000

/** Of one machine: what its clock shows, which can be set, and for how long it has run, which cannot, and goes on while it is suspended. */
export interface MachineClocks {
  readonly timeOfDay: Instant
  readonly uptimeMs: number
}

/** The database's time, read somewhere between a question and its answer. */
export interface ClockReading {
  readonly database: Instant
  readonly asked: MachineClocks
  readonly answered: MachineClocks
}

export interface ClockEvidence {
  /** The last reading of this process; null where it has not looked since it began, or since an operator confirmed the clock. */
  readonly before: ClockReading | null
  /** The newest time that any gateway has believed; null on a database that none has looked at yet. */
  readonly trustedUntil: Instant | null
  /** The name of this machine, for the operator who has to find it. */
  readonly machine: string
}

/** Why the database's clock cannot be believed, in a clause; null where it can. A slow answer makes the reading less exact, and never a doubt. */
export const clockDoubt = (reading: ClockReading, { before, machine, trustedUntil }: ClockEvidence): string | null =>
  (before === null ? null : jump(before, reading)) ?? difference(reading, machine) ?? gap(reading.database, trustedUntil)

const jump = (before: ClockReading, { answered, asked, database }: ClockReading): string | null => {
  const passed = database - before.database
  const ahead = passed - (answered.uptimeMs - before.asked.uptimeMs)
  const behind = asked.uptimeMs - before.answered.uptimeMs - passed
  if (ahead > CLOCKS_DIFFER_AT_MOST_MS) return `the database's clock went forward by ${span(ahead)} more than time passed`
  return behind > CLOCKS_DIFFER_AT_MOST_MS ? `the database's clock fell back by ${span(behind)}` : null
}

/**
 * The gateway cannot know which of the two is wrong. A standby that took over may even share its wrong clock with the gateways of its
 * machine.
 */
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
