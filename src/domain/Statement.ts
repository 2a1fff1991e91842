import { Schema } from "effect"
import type { Phase } from "./Ledger.ts"

/** The kinds of entries in a tenant's statement. */
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

/** A correction that takes back what was collected, and brings nothing else, is a reversal. */
export const statementType = (phase: Phase, isReversal: boolean): StatementType =>
  phase === "correct" ? (isReversal ? "reverse" : "correction") : phase
