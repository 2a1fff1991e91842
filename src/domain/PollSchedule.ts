import { waitsForCode } from "./CollectionMoves.ts"
import type { LedgerRecord } from "./Exchange.ts"
import type { Instant } from "./Instant.ts"
import { ZERO } from "./Money.ts"
import { isTerminal } from "./Transaction.ts"

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** An open transaction is polled until it is this old; then a person reviews it. */
export const POLLED_FOR_MS = 24 * HOUR

/** When the provider is polled for the outcome of a transaction that nothing else settles. Durations are milliseconds. */
export interface PollSchedule {
  /** Ages at which an open transaction is polled; the last one repeats. */
  readonly open: ReadonlyArray<number>
}

// Late truths: a payout can come back, an expired charge can still succeed (contract MOVE-11).
const afterSuccessfulPayout = [HOUR, 24 * HOUR, 72 * HOUR]
const afterExpiry = [HOUR, 6 * HOUR, 24 * HOUR, 72 * HOUR]

/** When to poll next, null for never. A poll that was missed is made at once, and once only. */
export const nextPoll = (transaction: LedgerRecord, schedule: PollSchedule, now: Instant): Instant | null => {
  if (isTerminal(transaction)) return latePoll(transaction)
  if (now - transaction.createdAt >= POLLED_FOR_MS) return null
  const scheduled = transaction.createdAt + openAge(schedule.open, now - transaction.createdAt)
  const expiry = transaction.kind === "exchange" ? null : transaction.expiresAt
  if (expiry === null || expiry <= now) return scheduled
  // Nothing was charged that could be polled; a charge whose answer was lost is found when its code expires.
  return waitsForCode(transaction) ? expiry : Math.min(scheduled, expiry)
}

/** Polled to the end of the schedule without an outcome: a person has to review it. */
export const isOverdue = (transaction: LedgerRecord, now: Instant): boolean =>
  !isTerminal(transaction) && !transaction.needsReview && now - transaction.createdAt >= POLLED_FOR_MS

const latePoll = (transaction: LedgerRecord): Instant | null => {
  const since = transaction.completedAt ?? transaction.updatedAt
  if (transaction.kind === "payout" && transaction.status === "successful")
    // Where only a part came back, the rest still may.
    return (transaction.returned?.amount ?? ZERO) < transaction.principal
      ? after(since, afterSuccessfulPayout, transaction.asked)
      : null
  return transaction.status === "expired" ? after(since, afterExpiry, transaction.asked) : null
}

const after = (since: Instant, ages: ReadonlyArray<number>, asked: number): Instant | null => {
  const age = ages[asked]
  return age === undefined ? null : since + age
}

/** The first scheduled age later than `age`; past the list its last age repeats. */
const openAge = (ages: ReadonlyArray<number>, age: number): number => {
  const listed = ages.find((candidate) => candidate > age)
  if (listed !== undefined) return listed
  const last = ages.at(-1) ?? HOUR
  return last * (Math.floor(age / last) + 1)
}
