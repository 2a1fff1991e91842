import type { Transaction } from "../../../src/domain/Transaction.ts"
import type { Execution, SimulatedTransaction } from "../../../src/simulator/Facts.ts"
import { collectionFee, payoutFee } from "../../../src/simulator/Fees.ts"
import type { Abilities } from "../../../test/providers/contract/Orders.ts"
import type { Case, Operation } from "./Case.ts"
import { CREDIT } from "./Ground.ts"
import { wavers } from "./Outside.ts"
import { DAY, HOUR, MINUTE, SECOND } from "./Plan.ts"

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

/** What ended is told once: again only once it is a person's, came back, or has the number that its customer sees. */
export const toldAgain = (before: Transaction, record: Transaction): ReadonlyArray<string> => {
  const { needsReview, reference, status, version } = record
  if (status === "pending" || status === "requires_action") return []
  const isSame = version === before.version || needsReview !== before.needsReview
  const isBack = record.kind === "payout" && before.kind === "payout" && record.returned !== before.returned
  const isNumbered = record.kind !== "exchange" && before.kind !== "exchange" && record.providerReceipt !== before.providerReceipt
  return isSame || isBack || isNumbered ? [] : [`${reference} is told again to be ${status}`]
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
  // The payer paid less than what was asked for.
  const isLess = kind === "collection" && plan.ending === "0014"
  const hasTurned = plan.turnsAfterMs !== null && truth.executions.length > 0
  // A person has what nobody could find out, or what the provider contradicted itself about.
  const mayBeReviewed =
    isInferred || hasTurned || plan.honestAfterMs >= 24 * HOUR || ["0012", "0015"].includes(plan.ending) || isLess
  if (needsReview) return mayBeReviewed || transaction?.status === "pending" ? null : "nothing for a person to decide"
  if (transaction === undefined || transaction.awaitsPayer)
    return isOpen || status === "successful" ? "nothing was made at the provider" : null
  if (transaction.status === "pending") return kind === "collection" && status === "expired" ? null : "it is still open"
  if (moves(truth).length === 0) return status === "failed" || status === "expired" ? null : "it failed"
  if (!cameBack(truth)) {
    if (status === "successful") return null
    // A payout that surely failed is final: what its provider does afterwards is told by a callback or a statement.
    return hasTurned && kind === "payout" && status === "failed" && !wavers(transaction) ? null : "it moved"
  }
  if (status === "failed" || status === "expired") return null
  // Of what nobody is called back about, and no statement lists, only the questions tell, which end after three days.
  if (hasTurned && kind === "payout" && abilities.callsBack?.payouts === false && abilities.lists?.includes("payout") === false)
    return null
  const word = hasTurned ? "Refused" : abilities.sentBack[kind === "collection" ? "charges" : "payouts"]
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
  // Whoever pays what has expired is heard of at one of the ages at which it is asked for once more: within the day.
  const isExpired = operation.commits.some(({ at, record }) => record.status === "expired" && at < trueSince)
  const bound = trueSince + (isExpired ? DAY : badMs <= 10 * MINUTE ? 15 * MINUTE : 61 * MINUTE)
  const told = operation.commits.find(({ at, record }) => isOver(record) && (!isExpired || at >= trueSince))
  return told === undefined || told.at <= bound
    ? null
    : `known ${Math.round((told.at - trueSince) / MINUTE)} minutes after it was so`
}

const isOver = ({ status }: Transaction): boolean => status !== "pending" && status !== "requires_action"

/** Nobody is charged again within minutes of a charge that took his money. */
export const chargedTwice = (all: ReadonlyArray<Ended>): ReadonlyArray<string> => {
  const taken = all.filter(({ truth }) => moves(truth).length > 0 && !cameBack(truth))
  const [first, second] = taken
  if (first === undefined || second === undefined || second.operation.askedAt - first.operation.askedAt >= 15 * MINUTE) return []
  return [`charged twice within ${Math.round((second.operation.askedAt - first.operation.askedAt) / 1000)} s`]
}

/** What the tenant has in each currency must be what it had and what moved, and nothing of it reserved; null where that is a person's. */
const expectedFloats = (all: ReadonlyArray<Ended>): ReadonlyMap<string, bigint> | null => {
  const floats = new Map<string, bigint>()
  const move = (currency: string, amount: bigint) => floats.set(currency, (floats.get(currency) ?? CREDIT) + amount)
  for (const { one, record, truth } of all) {
    const { currency, method, amount: ordered } = one.plan.way
    move(currency, 0n)
    if (record?.kind === "exchange") move(record.destinationCurrency, 0n)
    if (record === undefined) continue
    if (record.needsReview) return null
    const [moved] = moves(truth)
    if (moved === undefined || record.status !== "successful") continue
    const amount = BigInt(moved.amount_minor)
    switch (record.kind) {
      case "collection":
        move(currency, amount - collectionFee(amount))
        break
      case "payout":
        if (record.returned === null) move(currency, -amount)
        if (record.returned === null || truth.transactions[0]?.feeReturns !== true)
          move(currency, -payoutFee(currency, method, ordered))
        break
      case "exchange":
        move(currency, -amount)
        move(record.destinationCurrency, truth.transactions[0]?.destinationAmount ?? 0n)
    }
  }
  return floats
}

/** What a tenant has at the end, in each currency. */
interface Position {
  readonly currency: string
  readonly available: bigint
  readonly reserved: bigint
  readonly receivable?: bigint
}

export const wrongFloats = (all: ReadonlyArray<Ended>, positions: ReadonlyArray<Position>): ReadonlyArray<string> => {
  const expected = expectedFloats(all)
  if (expected === null) return []
  return positions.flatMap(({ available, currency, receivable = 0n, reserved }) => {
    const [total, right] = [available + reserved - receivable, expected.get(currency) ?? 0n]
    if (total !== right) return [`the float is ${total} ${currency}, and ${right} is right`]
    return reserved === 0n ? [] : [`${reserved} ${currency} are reserved, and nothing is open`]
  })
}

/** Its last record says otherwise than what happened: money that moved and failed here, or failed there and succeeded here. */
export const isContrary = ({ commits }: Operation, truth: Truth): boolean => {
  const status = commits.at(-1)?.record.status
  const isThere = moves(truth).length > 0 && !cameBack(truth)
  if (status === "failed" || status === "expired") return isThere
  return status === "successful" && truth.transactions.length > 0 && moves(truth).length === 0
}

/** Work that broke, and alarms of a kind that came again within a minute. */
export const storms = (log: ReadonlyArray<string>): ReadonlyArray<string> => {
  const last = new Map<string, number>()
  return log.flatMap((line) => {
    const { annotations, error, message, time } = JSON.parse(line)
    const { alarm, count, provider } = annotations
    if (error !== undefined) return [`${message}: ${String(error).split("\n")[0]}`]
    if (alarm === undefined || count !== undefined) return []
    const [kind, at] = [`${message}: ${alarm} (${provider})`, Date.parse(time)]
    const before = last.get(kind)
    last.set(kind, at)
    return before !== undefined && at - before < MINUTE - 10 * SECOND ? [`again after ${at - before} ms: ${kind}`] : []
  })
}
