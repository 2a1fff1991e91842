import { waitsForCode } from "./CollectionMoves.ts"
import { wasListed } from "./Contradiction.ts"
import type { Instant } from "./Instant.ts"
import { type CollectionStatus, isTerminal, sentBack } from "./Payment.ts"
import type { Transaction } from "./Transaction.ts"

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** An open transaction is polled until it is this old, or longer where its payer may still pay it; then a person reviews it. */
export const POLLED_FOR_MS = 24 * HOUR

/** A charge with a `payableUntil` is polled for this long after it: earlier polls may have been rejected, or met an outage. */
export const POLLED_AFTER_PAYABLE_MS = 12 * HOUR

/** The least time, in milliseconds, between a failure that must be confirmed and the query that confirms it. */
export const SECOND_LOOK_MS = MINUTE

/** When the provider is polled for the outcome of a transaction that nothing else settles. Durations are milliseconds. */
export interface PollSchedule {
  /** Ages at which an open transaction is polled; the last one repeats. */
  readonly open: ReadonlyArray<number>
}

// Late outcomes: a payout can come back, a collection can be reversed, and what expired or failed can still succeed (contract
// MOVE-11, MOVE-16). late_poll.sql repeats the first three ages, where a node of the previous release would stop polling.
const DAY = 24 * HOUR
const afterSuccess = [HOUR, DAY, 3 * DAY]
/** A charge can be disputed for weeks. It is polled that long only where no list or statement of the provider shows disputes. */
const afterSuccessUnlisted = [...afterSuccess, 7 * DAY, 30 * DAY, 45 * DAY]
const afterFailure = [HOUR, 24 * HOUR, 72 * HOUR]
const afterExpiry = [HOUR, 6 * HOUR, 24 * HOUR, 72 * HOUR]

/**
 * When to poll next, null for never. A missed poll is made at once, and only once. `isListed`: the provider lists disputes and
 * refunds of charges; without such a list, each charge is polled for them.
 */
export const nextPoll = (transaction: Transaction, schedule: PollSchedule, now: Instant, isListed = false): Instant | null => {
  if (isTerminal(transaction)) return latePoll(transaction, isListed)
  if (now >= reviewedAt(transaction)) return null
  const again = (transaction.doubtedSince ?? now) + SECOND_LOOK_MS
  const scheduled = transaction.createdAt + openAge(schedule.open, now - transaction.createdAt)
  // A poll before that proves nothing, so an earlier one is postponed.
  if (transaction.doubtedSince !== undefined && again > now) return again
  const expiry = transaction.kind === "exchange" ? null : transaction.expiresAt
  if (expiry === null || expiry <= now) return scheduled
  // Before the code is accepted, nothing was charged. A charge whose answer was lost is found when its code expires.
  return waitsForCode(transaction) ? expiry : Math.min(scheduled, expiry)
}

/** Polled to the end of the schedule without an outcome: a person has to review it. */
export const isOverdue = (transaction: Transaction, now: Instant): boolean =>
  !isTerminal(transaction) && !transaction.needsReview && now >= reviewedAt(transaction)

/** When polling of an open transaction ends and a person decides. Only a charge has a time until which its payer may pay. */
export const reviewedAt = ({
  createdAt,
  payableUntil
}: {
  readonly createdAt: Instant
  readonly payableUntil?: Instant | null
}): Instant => {
  const aDayOld = createdAt + POLLED_FOR_MS
  const payableEnd = payableUntil ?? null
  return payableEnd === null ? aDayOld : Math.max(aDayOld, payableEnd + POLLED_AFTER_PAYABLE_MS)
}

const latePoll = (transaction: Transaction, isListed: boolean): Instant | null => {
  const since = transaction.completedAt ?? transaction.updatedAt
  const { asked, doubtedSince, kind, status } = transaction
  if (kind === "collection")
    return after(
      since,
      status === "successful" && (isListed || wasListed(transaction)) ? afterSuccess : afterCharge[transaction.status],
      asked
    )
  // Its money came back, and the provider may still correct its report.
  if (status === "failed" && doubtedSince !== undefined) return after(since, afterFailure, asked)
  // Where only a part came back, the rest still may.
  const mayComeBack = kind === "payout" && status === "successful" && sentBack(transaction) < transaction.principal
  return mayComeBack ? after(since, afterSuccess, asked) : null
}

const afterCharge: { readonly [S in CollectionStatus]: ReadonlyArray<number> } = {
  requires_action: [],
  pending: [],
  successful: afterSuccessUnlisted,
  failed: afterFailure,
  expired: afterExpiry
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
