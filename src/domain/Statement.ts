import { Schema } from "effect"
import type { Phase } from "./Ledger.ts"

export const StatementType = Schema.Literals([
  "reserve",
  "settle",
  "release",
  "collect",
  "return",
  "reverse",
  "exchange",
  "credit",
  "debit",
  "correction",
  "refund"
])
export type StatementType = typeof StatementType.Type

/**
 * A correction that only takes back what was collected is a reversal. A refund is what a payout takes from the float to refund
 * a collection; until its outcome is known it is only held.
 */
export const statementType = (
  phase: Phase,
  { isRefund, isReversal }: { readonly isReversal: boolean; readonly isRefund: boolean }
): StatementType => {
  if (phase === "correct") return isReversal ? "reverse" : "correction"
  return phase === "settle" && isRefund ? "refund" : phase
}
