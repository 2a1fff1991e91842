import type { Transaction } from "../../../src/domain/Transaction.ts"
import type { Execution, SimulatedTransaction } from "../../../src/simulator/Facts.ts"
import { collectionFee, payoutFee } from "../../../src/simulator/Fees.ts"
import type { Abilities } from "../../../test/providers/contract/Orders.ts"
import type { Case, Operation } from "./Case.ts"
import { creditIn } from "./Ground.ts"
import { HOUR, MINUTE } from "./Plan.ts"

// Knows what the provider did and when, and shares no rule with the program.

/** All that a provider did by one reference. */
export interface Truth {
  readonly transactions: ReadonlyArray<SimulatedTransaction>
  readonly executions: ReadonlyArray<Execution>
}

const moves = ({ executions }: Truth) => executions.filter(({ direction }) => direction !== "return")
const cameBack = ({ executions }: Truth) => executions.some(({ direction }) => direction === "return")

/** What a change of a record says against what was true at that moment. */
export const unsafe = ({ kind, reference, status, ...record }: Transaction, truth: Truth): ReadonlyArray<string> => {
  const [moved] = moves(truth)
  const isUndone = cameBack(truth)
  const isUnderWay = truth.transactions.some((one) => one.status === "pending" && !one.awaitsPayer)
  const says = (fault: string) => [`${reference} is ${status}: ${fault}`]
  if (status === "successful") return moved === undefined ? says("nothing has moved") : []
  if (status === "failed")
    return moved !== undefined && !isUndone ? says("it has moved") : isUnderWay ? says("it is under way") : []
  // A payer may still approve what has expired, which is booked then.
  if (status === "expired") return moved !== undefined && !isUndone ? says("it has moved") : []
  return kind === "payout" && "returned" in record && record.returned !== null && !isUndone ? says("nothing came back") : []
}

interface Ended {
  readonly one: Case
  readonly operation: Operation
  readonly record: Transaction | undefined
  readonly truth: Truth
}

/** Of an hour ahead or behind nothing follows: what a provider says of times is told on its own clock. */
interface Ground {
  readonly abilities: Abilities
  readonly isInferred: boolean
  readonly aheadMs: number
}

export const faultsOfEnd = (ended: Ended, ground: Ground): ReadonlyArray<string> => {
  const { operation, record, truth } = ended
  const { key, reference } = operation
  const moved = moves(truth)
  if (moved.length > 1) return [`${key}: moved ${moved.length} times`]
  // Refused before anything was recorded.
  if (record === undefined) return truth.transactions.length > 0 ? [`${key}: made at the provider, and not recorded`] : []
  const what = `${key} (${reference})`
  const wrong = unsettled(ended, ground)
  if (wrong !== null) return [`${what}: ${wrong} in the end, and ${record.status}${record.needsReview ? ", in review" : ""} here`]
  const late = isLate(ended, ground)
  return late === null ? [] : [`${what}: ${late}`]
}

/** What a record does not say although it is so, and nobody has it for review; null where all is well. */
const unsettled = ({ one, record, truth }: Ended, { abilities, isInferred }: Ground): string | null => {
  if (record === undefined) return null
  const { kind, needsReview, status } = record
  const { plan } = one
  const [transaction] = truth.transactions
  const isOpen = status === "pending" || status === "requires_action"
  const hasTurned = plan.turnsAfterMs !== null && truth.executions.length > 0
  // A person has what nobody could find out, or what the provider contradicted itself about.
  const mayBeReviewed =
    isInferred || hasTurned || plan.honestAfterMs >= 24 * HOUR || plan.ending === "0012" || plan.ending === "0015"
  if (needsReview) return mayBeReviewed || transaction?.status === "pending" ? null : "nothing for a person to decide"
  if (transaction === undefined || transaction.awaitsPayer)
    return isOpen || status === "successful" ? "nothing was made at the provider" : null
  if (transaction.status === "pending") return kind === "collection" && status === "expired" ? null : "it is still open"
  if (moves(truth).length === 0) return status === "failed" || status === "expired" ? null : "it failed"
  if (!cameBack(truth)) {
    if (status === "successful") return null
    // A failed payout is final: what its provider does afterwards is told by a callback or a statement.
    return hasTurned && kind === "payout" && status === "failed" ? null : "it moved"
  }
  if (status === "failed" || status === "expired") return null
  const word = hasTurned ? "Refused" : abilities.sentBack[kind === "payout" ? "payouts" : "charges"]
  const isBooked = kind === "payout" && record.returned !== null
  return word === "Succeeded" || isBooked ? null : "it was undone"
}

/** On an honest line the truth is there within minutes, and after hours of a bad one within the hour at which polls go on. */
const isLate = ({ one, operation, truth }: Ended, { aheadMs }: Ground): string | null => {
  const [transaction] = truth.transactions
  if (one.plan.turnsAfterMs !== null || transaction === undefined || transaction.status === "pending") return null
  if (transaction.awaitsPayer || transaction.returned || one.badUntil === null) return null
  const trueSince = Math.max(transaction.updatedAt - aheadMs, one.badUntil)
  const badMs = trueSince - operation.askedAt
  if (badMs >= 24 * HOUR) return null
  const bound = trueSince + (badMs <= 10 * MINUTE ? 15 * MINUTE : 61 * MINUTE)
  const told = operation.commits.find(({ record }) => record.status !== "pending" && record.status !== "requires_action")
  return told === undefined || told.at <= bound
    ? null
    : `known ${Math.round((told.at - trueSince) / MINUTE)} minutes after it was so`
}

/** Nobody is charged again within minutes of a charge that took his money. */
export const chargedTwice = (all: ReadonlyArray<Ended>): ReadonlyArray<string> => {
  const taken = all.filter(({ truth }) => moves(truth).length > 0 && !cameBack(truth))
  const [first, second] = taken
  if (first === undefined || second === undefined || second.operation.askedAt - first.operation.askedAt >= 15 * MINUTE) return []
  return [`charged twice within ${Math.round((second.operation.askedAt - first.operation.askedAt) / 1000)} s`]
}

/** What the tenant has must be what it had and what moved; null where that is open or a person's. */
export const expectedFloat = (all: ReadonlyArray<Ended>): bigint | null => {
  const [first] = all
  let float = first === undefined ? 0n : creditIn(first.one.plan.way.currency)
  for (const { one, record, truth } of all) {
    if (record === undefined) continue
    if (record.needsReview) return null
    const { kind, way } = one.plan
    const [moved] = moves(truth)
    if (kind === "charge") {
      if (moved === undefined || record.status !== "successful") continue
      const amount = BigInt(moved.amount_minor)
      float += amount - collectionFee(amount)
    } else if (moved !== undefined && record.status === "successful") {
      const isBack = record.kind === "payout" && record.returned !== null
      float -= payoutFee(way.currency, way.method, way.amount) + (isBack ? 0n : BigInt(moved.amount_minor))
    }
  }
  return float
}
