import { collectionMoves } from "./CollectionMoves.ts"
import { withReport } from "./Contradiction.ts"
import { type Decision, unchanged } from "./Decision.ts"
import { exchangeMoves } from "./ExchangeMoves.ts"
import type { Actor, Fact } from "./Fact.ts"
import type { Instant } from "./Instant.ts"
import { type FactOrigin, moveIn } from "./MoveTable.ts"
import type { Payment } from "./Payment.ts"
import { payoutMoves } from "./PayoutMoves.ts"
import { withReceipt } from "./ProviderReceipt.ts"
import type { Transaction } from "./Transaction.ts"

/**
 * The effect of one fact on one record. Only the tables decide: `payoutMoves`, `collectionMoves` and `exchangeMoves` have a row
 * for each status and a cell for each fact that has an effect (contract MOVE-1). After `Mismatched` only a person changes the
 * record. The record stores the provider's reports of the money, and its receipt number.
 */
export function decide(record: Payment, fact: Fact, actor: Actor, at: Instant): Decision<Payment>
export function decide(record: Transaction, fact: Fact, actor: Actor, at: Instant): Decision<Transaction>
export function decide(record: Transaction, fact: Fact, actor: Actor, at: Instant): Decision<Transaction> {
  const decision = decideByKind(record, fact, { actor, at })
  return { ...decision, next: withReceipt(record, withReport(record, decision.next, fact), fact, at) }
}

const decideByKind = (record: Transaction, fact: Fact, origin: FactOrigin): Decision<Transaction> => {
  // This fact is about the other request under the same reference.
  if (record.ofAnother === true) return unchanged(record)
  switch (record.kind) {
    case "payout":
      return moveIn(payoutMoves[record.status], fact._tag)(record, fact, origin)
    case "collection":
      return moveIn(collectionMoves[record.status], fact._tag)(record, fact, origin)
    case "exchange":
      return moveIn(exchangeMoves[record.status], fact._tag)(record, fact, origin)
  }
}
