import { Result } from "effect"
import { ProviderBadResponse, ProviderTimeout, ProviderUnavailable } from "../../domain/errors/Ambiguous.ts"
import { OtpIncorrect } from "../../domain/errors/Retriable.ts"
import { ChargeRejectedByProvider, InsufficientWalletFloat, PayoutRejectedByProvider } from "../../domain/errors/Terminal.ts"
import type { Fact } from "../../domain/Fact.ts"
import { isFailureContested } from "../../domain/Payment.ts"
import type { Transaction } from "../../domain/Transaction.ts"

/** A refusal that stays the same however often the request is repeated. A wrong code is one for the create that sent it. */
export type FinalError = PayoutRejectedByProvider | ChargeRejectedByProvider | InsufficientWalletFloat | OtpIncorrect
/** The outcome is unknown: no response is stored, and the key stays linked to the transaction. */
export type UnknownOutcomeError = ProviderUnavailable | ProviderTimeout | ProviderBadResponse

/**
 * The response to a request that created or reads this transaction. `fact`: the provider's answer; null when the request is
 * repeated later. The transaction's state takes precedence over the answer, because a callback may have been faster.
 */
export const outcomeResponse = <R extends Transaction>(
  transaction: R,
  fact: Fact | null
): Result.Result<R, FinalError | UnknownOutcomeError> => {
  const { reference } = transaction
  if (fact?._tag === "NotSent") return Result.fail(new ProviderUnavailable({ reference }))
  if (isFailureContested(transaction))
    return Result.fail(
      fact?._tag === "Unknown" ? unknownOutcome(transaction, fact.reason) : new ProviderBadResponse({ reference })
    )
  if (transaction.status === "failed" || transaction.status === "expired") return Result.fail(refusalFor(transaction, fact))
  if (transaction.status === "requires_action" && fact?._tag === "WrongCode")
    return Result.fail(new OtpIncorrect({ reference, attempts_remaining: fact.attemptsRemaining }))
  if (transaction.status !== "successful" && fact?._tag === "Unknown")
    return Result.fail(unknownOutcome(transaction, fact.reason))
  if (transaction.status !== "successful" && fact?._tag === "Mismatched")
    return Result.fail(new ProviderBadResponse({ reference }))
  return Result.succeed(transaction)
}

const refusalFor = (transaction: Transaction, fact: Fact | null): FinalError => {
  const { reference } = transaction
  if (fact?._tag === "Refused" && fact.kind === "pool") return new InsufficientWalletFloat({ reference })
  const failure_code = transaction.failure?.code ?? "unknown"
  // An exchange takes money out of a position, as a payout does; the contract has no separate code for it.
  return transaction.kind === "collection"
    ? new ChargeRejectedByProvider({ reference, failure_code })
    : new PayoutRejectedByProvider({ reference, failure_code })
}

const unknownOutcome = ({ reference }: Transaction, reason: "timeout" | "unavailable" | "bad_response"): UnknownOutcomeError => {
  switch (reason) {
    case "timeout":
      return new ProviderTimeout({ reference })
    case "unavailable":
      return new ProviderUnavailable({ reference })
    case "bad_response":
      return new ProviderBadResponse({ reference })
  }
}
