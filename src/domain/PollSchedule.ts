import { waitsForCode } from "./CollectionMoves.ts"
import { wasListed } from "./Contradiction.ts"
import type { Instant } from "./Instant.ts"
import { type CollectionStatus, isTerminal, sentBack } from "./Payment.ts"
import type { Transaction } from "./Transaction.ts"

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** An open transaction is polled until it is this old, or longer where its payer may still pay it; then a person reviews it. */
export const POLLED_FOR_MS = 24 * HOUR

/**
 * A charge that its payer may pay until then is polled for so long after it: the polls that find it left behind may be turned away, or meet an
 * outage of its provider.
 */
export const POLLED_AFTER_PAYABLE_MS = 12 * HOUR

/** So long after a failure that is to be looked at once more a second answer is another one. */
export const SECOND_LOOK_MS = MINUTE

/** When the provider is polled for the outcome of a transaction that nothing else settles. Durations are milliseconds. */
export interface PollSchedule {
  /** Ages at which an open transaction is polled; the last one repeats. */
  readonly open: ReadonlyArray<number>
}

// Late truths: what was paid out can come back, what was collected can be reversed, what expired or failed can still succeed (contract
// MOVE-11, MOVE-16). The first three ages stand in late_poll.sql, too, for what the release before would end.
const DAY = 24 * HOUR
const afterSuccess = [HOUR, DAY, 3 * DAY]
/**
 * A charge can be disputed or refunded for weeks. A charge is polled for these only where neither a list of the provider nor its statement
 * shows them.
 */
const afterSuccessUnlisted = [...afterSuccess, 7 * DAY, 30 * DAY, 45 * DAY]
const afterFailure = [HOUR, 24 * HOUR, 72 * HOUR]
const afterExpiry = [HOUR, 6 * HOUR, 24 * HOUR, 72 * HOUR]

/**
 * When to poll next, null for never. A poll that was missed is made at once, and once only. `isListed`: its provider lists what is taken back of
 * charges; where that is not known, they are asked for one by one.
 */
export const nextPoll = (transaction: Transaction, schedule: PollSchedule, now: Instant, isListed = false): Instant | null => {
  if (isTerminal(transaction)) return latePoll(transaction, isListed)
  if (now >= reviewedAt(transaction)) return null
  const again = (transaction.doubtedSince ?? now) + SECOND_LOOK_MS
  const scheduled = transaction.createdAt + openAge(schedule.open, now - transaction.createdAt)
  // Nothing is learnt of it before: whatever is due sooner is too early.
  if (transaction.doubtedSince !== undefined && again > now) return again
  const expiry = transaction.kind === "exchange" ? null : transaction.expiresAt
  if (expiry === null || expiry <= now) return scheduled
  // Nothing was charged that could be polled; a charge whose answer was lost is found when its code expires.
  return waitsForCode(transaction) ? expiry : Math.min(scheduled, expiry)
}

/** Polled to the end of the schedule without an outcome: a person has to review it. */
export const isOverdue = (transaction: Transaction, now: Instant): boolean =>
  !isTerminal(transaction) && !transaction.needsReview && now >= reviewedAt(transaction)

/** The end of the polls of an open transaction: from then on it waits for a person. Only a charge has a time until which its payer may pay it. */
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
  // Its money came back, and its provider may still correct its word.
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
