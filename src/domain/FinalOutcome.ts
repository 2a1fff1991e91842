import type { Mode } from "./Ids.ts"
import { type FailureCode, isTerminal } from "./Payment.ts"
import type { Transaction, TransactionKind } from "./Transaction.ts"

/** How a transaction ended, in a small fixed set of words, so that a metric can have them as labels. */
export interface FinalOutcome {
  readonly kind: TransactionKind
  readonly mode: Mode
  readonly provider: string
  /** Country, currency and method of a payment, as "UG/UGX/momo"; the two currencies of an exchange, as "UGX/KES". */
  readonly corridor: string
  readonly status: Transaction["status"]
  readonly failure: FailureCode | typeof NO_FAILURE
}

/** Stands in place of the failure code where there is none. */
export const NO_FAILURE = "none"

/**
 * How the transaction ended by this change, according to the record after it; null where it did not end. A transaction ends
 * once: a late fact or a person's ruling on one that had ended is a correction, not a second end.
 */
export const finalOutcome = (before: Transaction, next: Transaction): FinalOutcome | null =>
  isTerminal(before) || !isTerminal(next)
    ? null
    : {
        kind: next.kind,
        mode: next.mode,
        provider: next.provider,
        corridor: corridorName(next),
        status: next.status,
        failure: next.failure?.code ?? NO_FAILURE
      }

const corridorName = (record: Transaction): string => {
  if (record.kind === "exchange") return `${record.currency}/${record.destinationCurrency}`
  const { country, currency, method } = record.corridor
  return `${country}/${currency}/${method}`
}
