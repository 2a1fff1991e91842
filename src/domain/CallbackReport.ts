import { Schema } from "effect"
import { personRuledFailed } from "./Contradiction.ts"
import { isTerminal, sentBack } from "./Payment.ts"
import type { Transaction } from "./Transaction.ts"

/**
 * The outcome that a provider's callback reports. The gateway does not act on it: it decides only how often the provider is polled, and
 * operators read it.
 */
export const Reported = Schema.Literals(["pending", "successful", "failed", "returned"])
export type Reported = typeof Reported.Type

/** A report of an outcome that is not what the record says, or that the record does not say yet. */
export const contradicts = (record: Transaction, reported: Reported | null): boolean =>
  reported !== null &&
  reported !== "pending" &&
  !agrees(record, reported) &&
  !(reported === "returned" && isReturnedInPart(record))

/** The report is what the record says, so that there is nothing to wait for. Nothing says that a return is the one that was booked. */
export const confirms = (record: Transaction, reported: Reported | null): boolean =>
  reported !== null && reported !== "pending" && agrees(record, reported)

const agrees = (record: Transaction, reported: Exclude<Reported, "pending">): boolean => {
  if (!isTerminal(record)) return false
  // The person who ruled on the record knew of this report.
  if (record.ruling?.known.some((known) => known.startsWith(inReports[reported])) === true) return true
  const isUndone = record.status !== "successful" || personRuledFailed(record) || isReturned(record)
  // A provider that took money back calls it failed, and one that moved none may call that returned.
  return reported === "successful" ? record.status === "successful" && !personRuledFailed(record) : isUndone
}

/** As `reportOf` in Contradiction begins. */
const inReports = { successful: "succeeded", failed: "failed", returned: "returned" } as const

/** A reversal is booked by a person, who decides how much of a charge it took back: nothing more of it is distinguished. */
const isReturned = (record: Transaction): boolean =>
  record.kind === "collection"
    ? record.reversed !== null
    : record.kind === "payout" && record.returned !== null && sentBack(record) >= record.principal

const isReturnedInPart = (record: Transaction): boolean =>
  record.kind === "payout" && record.returned !== null && !isReturned(record)
