import { Effect, Redacted } from "effect"
import { waitsForCode } from "../../domain/CollectionMoves.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import type { Adapter, ProviderGuarantees, StatusOutcome, StatusQuery } from "../ports/Provider.ts"

/** Polls the provider about a record; `Unknown` when its kind cannot be polled. `isOver`: open, and its payer's time is over. */
export const pollProvider = (provider: Adapter, transaction: Transaction, isOver = false): Effect.Effect<StatusOutcome> => {
  const port = { payout: provider.payouts, collection: provider.collections, exchange: provider.exchange }[transaction.kind]
  const unable: StatusOutcome = { _tag: "Unknown", reason: "unavailable", note: "the provider cannot be asked for this" }
  if (port === undefined) return Effect.succeed(unable)
  return port.fetchStatus({
    reference: transaction.reference,
    providerReference: transaction.providerReference,
    currency: transaction.currency,
    destinationCurrency: transaction.kind === "collection" ? null : transaction.destinationCurrency,
    ...(transaction.kind === "exchange" ? {} : { country: transaction.corridor.country }),
    sentAt: transaction.createdAt,
    ...partyOf(transaction, provider.guarantees),
    ...termsOf(transaction),
    ...(isOver && { isOver })
  })
}

const termsOf = (record: Transaction): Pick<StatusQuery, "charge" | "wrongCode"> => {
  if (record.kind !== "collection") return {}
  const { amount, contractFee: fee = null, corridor, network } = record
  const mayHaveFailed = record.wrongCode === true || waitsForCode(record)
  return {
    charge: { country: corridor.country, method: corridor.method, network, amount, fee },
    ...(mayHaveFailed && { wrongCode: true })
  }
}

/**
 * Passes the other party on as long as no provider has confirmed that it accepted this request: it may have a request that a
 * restore lost. Where a second request with the same reference is silently accepted, a handle confirms nothing.
 */
const partyOf = (record: Transaction, { clientReference }: ProviderGuarantees): Pick<StatusQuery, "party"> => {
  const isConfirmed = record.providerReference !== null && clientReference !== "idempotent"
  if (record.kind === "exchange" || record.corridor.method === "wallet" || isConfirmed) return {}
  const shown = record.kind === "payout" ? record.maskedDestination : record.maskedSource
  return shown === null ? {} : { party: Redacted.make(shown) }
}
