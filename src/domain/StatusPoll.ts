import type { Reported } from "./CallbackReport.ts"
import { type ClockLeap, passedAtLeast } from "./ClockLeaps.ts"
import type { Actor, Fact } from "./Fact.ts"
import type { Instant } from "./Instant.ts"
import { isTerminal } from "./Payment.ts"
import { SECOND_LOOK_MS } from "./PollSchedule.ts"
import type { Transaction } from "./Transaction.ts"

/** A status query that a provider was sent about a record, and what its answer may prove. */
export interface StatusPoll {
  readonly provider: string
  readonly actor: Actor
  /** Read before the query was sent, so that whatever became known during the query is not older. */
  readonly polledAt: Instant
  /** The leaps of the clock that the polling process knows: no time passed there. */
  readonly leaps: ReadonlyArray<ClockLeap>
  /** When the polling process began. It knows nothing of the clock before that, so no grace starts earlier. */
  readonly begunAt: Instant
  /** The record as it was read before the query: how often it had been polled, and its version. */
  readonly pollCount: number
  readonly version: number
  /** Whether "not found" can prove anything: the provider documents that it finds under our reference what it was sent. */
  readonly isDocumented: boolean
  /** The provider cannot be queried by our reference at all: "not found" proves nothing, and ends nothing. */
  readonly isUnaskable?: true
  /** How long after sending "not found" proves nothing, and how often in a row it must be answered. */
  readonly graceMs: number
  readonly notFoundAtLeast: number
  /** Whether the provider lists disputes and refunds of charges, or shows them in its statement. */
  readonly isListed: boolean
  /** The reports of authenticated callbacks; absent where no callback led to this poll. */
  readonly said?: ReadonlyArray<Reported>
}

/**
 * Whether this poll counts: it is the schedule's next one about the current version of the record. An answer that was already
 * counted (its commit was lost, or another node polled as well) does not count, nor does one about an earlier version. Nor do
 * polls for a request or a callback: a client could cause any number, and "not found" would become proof too soon.
 */
const isNext = (record: Transaction, { actor, pollCount, version }: StatusPoll): boolean =>
  actor === "reconciler" && record.asked === pollCount && record.version === version

/** Whether the payer's time for a charge is over, measured by the time that provably passed despite leaps of the clock. */
export const isWindowOver = (record: Transaction, { leaps, polledAt }: Pick<StatusPoll, "leaps" | "polledAt">): boolean =>
  record.kind === "collection" &&
  record.expiresAt !== null &&
  passedAtLeast(leaps, record.createdAt, polledAt) >= record.expiresAt - record.createdAt

/**
 * The fact that an answer proves about the record as it is now. A failure that the provider may correct is believed when it is
 * repeated some time later. "Not found" counts as never sent only where the provider documents the query by our reference,
 * after the grace and often enough in a row. A leap of the clock does not count towards a grace or a window. A collection whose
 * window passed expires once an authenticated answer reports neither a success nor an open charge; no timer fails anything by
 * itself.
 */
export const provenFact = (record: Transaction, answer: Fact, poll: StatusPoll): Fact => {
  if (isTerminal(record)) return answer
  const { polledAt, graceMs, isDocumented, isUnaskable, leaps, begunAt, notFoundAtLeast } = poll
  const isOver = isWindowOver(record, poll)
  if (answer._tag === "StillPending" && answer.isUnfinished === true && isOver)
    return { _tag: "Expired", note: "the window passed and the payer did not finish it" }
  if (answer._tag === "Refused" && answer.isUnsure === true) return secondLook(record, answer, poll)
  if (answer._tag !== "NotFound") return answer
  if (isUnaskable === true) return answer
  if (isOver) return { _tag: "Expired", note: "the window passed and the provider knows no such charge" }
  const often = isNext(record, poll) && record.notFound + 1 >= notFoundAtLeast
  // A charge with a code, or on its next provider, was sent after its creation; the record changed when it was sent.
  const enough = often && passedAtLeast(leaps, Math.max(record.updatedAt, begunAt), polledAt) >= graceMs
  return isDocumented && enough ? { _tag: "NotSent", note: "asked so often, the provider does not know it" } : answer
}

const secondLook = (
  { doubtedSince }: Transaction,
  refused: Extract<Fact, { _tag: "Refused" }>,
  { begunAt, leaps, polledAt }: StatusPoll
): Fact => {
  // As for "not found": the process does not know what the clock did before it started.
  if (doubtedSince !== undefined && passedAtLeast(leaps, Math.max(doubtedSince, begunAt), polledAt) >= SECOND_LOOK_MS)
    return refused
  const { note, providerReference } = refused
  return { _tag: "StillPending", providerReference, isDoubted: true, note: `${note}: it is asked about once more` }
}

/**
 * Since when the provider reports a failure that it may still correct; ended by any other report. A payout that failed because
 * it was not found is in doubt as well: it may be found later, and only further polls would notice.
 */
const doubt = (before: Transaction, next: Transaction, fact: Fact, poll: StatusPoll | null): Transaction => {
  if (fact._tag === "StillPending" && fact.isDoubted === true && poll !== null)
    return { ...next, doubtedSince: before.doubtedSince ?? poll.polledAt }
  if (fact._tag === "NotSent" && poll !== null && next.kind === "payout" && next.status !== before.status)
    return { ...next, doubtedSince: poll.polledAt }
  if (next.doubtedSince === undefined || !endsDoubt(before, fact)) return next
  const { doubtedSince: _ended, ...sure } = next
  return sure
}

const endsDoubt = (before: Transaction, fact: Fact): boolean => {
  if (fact._tag === "Refused") return fact.isUnsure !== true
  // A failed payment stays in doubt until its provider is certain, even if that reports it under way.
  if (isTerminal(before)) return fact._tag === "Succeeded" || fact._tag === "Returned"
  // Without an answer nothing is withdrawn.
  return fact._tag !== "Unknown" && fact._tag !== "NotFound"
}

/** Until when the payer of an open charge may still pay it, according to its provider. */
const payable = (next: Transaction, fact: Fact): Transaction =>
  next.kind === "collection" && !isTerminal(next) && fact._tag === "StillPending" && fact.payableUntil !== undefined
    ? { ...next, payableUntil: fact.payableUntil }
    : next

/** Counts the poll, and the times in a row that nothing was found. Each poll counts once, whatever its answer leads to. */
export const countPoll = (before: Transaction, after: Transaction, fact: Fact, poll: StatusPoll | null): Transaction => {
  const next = payable(doubt(before, after, fact, poll), fact)
  // Both counts restart when the status or the provider changes.
  if (next.status !== before.status || next.provider !== before.provider) return next
  const one = poll !== null && isNext(before, poll) ? 1 : 0
  const notFound = fact._tag === "NotFound" ? before.notFound + one : fact._tag === "StillPending" ? 0 : before.notFound
  return { ...next, asked: before.asked + one, notFound }
}
