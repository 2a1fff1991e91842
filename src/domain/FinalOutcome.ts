import type { Mode } from "./Ids.ts"
import { type FailureCode, isTerminal } from "./Payment.ts"
import type { Transaction, TransactionKind } from "./Transaction.ts"

/** How a transaction ended, in words of which there are few, whoever asks for what: they can be counted by. */
export interface FinalOutcome {
  readonly kind: TransactionKind
  readonly mode: Mode
  readonly provider: string
  /** Country, currency and method of a payment, as "UG/UGX/momo"; the two currencies of an exchange, as "UGX/KES". */
  readonly corridor: string
  readonly status: Transaction["status"]
  readonly failure: FailureCode | typeof NO_FAILURE
}

/** In the place of a failure's code where there is none. */
export const NO_FAILURE = "none"

/**
 * How the transaction ended by this change, as the record says after it; null where it did not. A transaction ends once: what a late fact or
 * a person makes of one that had ended is a correction of it, and no second end.
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
