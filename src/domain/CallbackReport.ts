import { Schema } from "effect"
import { personRuledFailed } from "./Contradiction.ts"
import { isTerminal, sentBack } from "./Payment.ts"
import type { Transaction } from "./Transaction.ts"

/** The outcome that a callback reports. It only affects how often the provider is polled, and operators read it. */
export const Reported = Schema.Literals(["pending", "successful", "failed", "returned"])
export type Reported = typeof Reported.Type

/** Whether the callback reports a final outcome that the record does not show: another one, or one not reached yet. */
export const contradicts = (record: Transaction, reported: Reported | null): boolean =>
  reported !== null &&
  reported !== "pending" &&
  !agrees(record, reported) &&
  !(reported === "returned" && isReturnedInPart(record))

/**
 * Whether the callback reports the outcome that the record already shows, so that there is nothing to wait for. It cannot tell
 * whether a reported return is the one that was booked.
 */
export const confirms = (record: Transaction, reported: Reported | null): boolean =>
  reported !== null && reported !== "pending" && agrees(record, reported)

const agrees = (record: Transaction, reported: Exclude<Reported, "pending">): boolean => {
  if (!isTerminal(record)) return false
  // The person who ruled on the record knew of this report.
  if (record.ruling?.known.some((known) => known.startsWith(inReports[reported])) === true) return true
  const isUndone = record.status !== "successful" || personRuledFailed(record) || isReturned(record)
  // One provider calls a payment "failed" when it took the money back; another calls it "returned" when no money moved.
  return reported === "successful" ? record.status === "successful" && !personRuledFailed(record) : isUndone
}

/** How each text that `reportOf` in Contradiction builds begins. */
const inReports = { successful: "succeeded", failed: "failed", returned: "returned" } as const

/** A reversal is booked by a person, who decides how much of a charge was taken back; nothing finer is distinguished. */
const isReturned = (record: Transaction): boolean =>
  record.kind === "collection"
    ? record.reversed !== null
    : record.kind === "payout" && record.returned !== null && sentBack(record) >= record.principal

const isReturnedInPart = (record: Transaction): boolean =>
  record.kind === "payout" && record.returned !== null && !isReturned(record)
