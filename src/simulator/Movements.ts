import { DateTime } from "effect"
import { LARGER_FEE, LATE_DELAYS, type PlannedCallback, type Play, playOf, says } from "./Endings.ts"
import type { Execution, Fact, Job, OutgoingCallback, SimulatedTransaction } from "./Facts.ts"
import { collectionFee } from "./Fees.ts"
import type { SimulatedProvider } from "./SimulatedProvider.ts"

// The life of a transaction, as facts. The functions are pure, so that each step is committed completely or not at all.

interface Setting {
  readonly callback: SimulatedProvider["callback"]
  readonly delayMs: number
  readonly now: number
}

/** For every new transaction. A payout is debited at once, as at a provider. */
export const openingFacts = (transaction: SimulatedTransaction, setting: Setting): ReadonlyArray<Fact> => [
  { fact: "transaction", transaction },
  ...(transaction.kind === "payout" && transaction.status === "pending"
    ? [walletFact(transaction, -(transaction.amount + transaction.fee))]
    : []),
  ...(transaction.status === "pending" && !transaction.awaitsPayer ? playFacts(transaction, setting) : [])
]

/** The payer visited the provider's page. */
export const completionFacts = (transaction: SimulatedTransaction, setting: Setting): ReadonlyArray<Fact> => {
  const completed = { ...transaction, awaitsPayer: false, updatedAt: setting.now }
  return [{ fact: "transaction", transaction: completed }, ...playFacts(completed, setting)]
}

const playFacts = (transaction: SimulatedTransaction, setting: Setting): ReadonlyArray<Fact> =>
  transaction.decidedAtOnce === true || playOf(transaction.kind, transaction.ending).settles === "at_once"
    ? settlementFacts(transaction, setting, setting.now + setting.delayMs)
    : [jobFact(transaction, "settle", setting.now + setting.delayMs, { kind: "settle", transaction: transaction.id })]

/** The ending's outcome, the money that it moves, and the callbacks about it. */
export const settlementFacts = (
  transaction: SimulatedTransaction,
  setting: Setting,
  callbacksAt: number
): ReadonlyArray<Fact> => {
  const play = playOf(transaction.kind, transaction.ending)
  const settled = outcome(transaction, play, setting.now)
  return [
    ...(play.outcome === "successful" ? moneyFacts(transaction, settled, setting.now) : []),
    ...(play.outcome === "failed" && transaction.kind === "payout"
      ? [walletFact(transaction, transaction.amount + transaction.fee)]
      : []),
    ...(play.outcome === "stays_pending" ? [] : [{ fact: "transaction", transaction: settled } as const]),
    ...callbackFacts(settled, play, setting, callbacksAt),
    ...(play.twist === "returned"
      ? [jobFact(settled, "return", setting.now + setting.delayMs, { kind: "return", transaction: settled.id })]
      : []),
    ...(play.twist === "paid_after_all"
      ? [jobFact(settled, "pay", setting.now + LATE_DELAYS * setting.delayMs, { kind: "pay", transaction: settled.id })]
      : [])
  ]
}

/** The payer's money arrives although the charge counts as failed. */
export const latePaymentFacts = (transaction: SimulatedTransaction, setting: Setting): ReadonlyArray<Fact> => {
  const paid: SimulatedTransaction = { ...transaction, status: "successful", reason: null, updatedAt: setting.now }
  return [
    ...moneyFacts(transaction, paid, setting.now),
    { fact: "transaction", transaction: paid },
    ...callbackJobFacts(paid, "paid", [says("successful")], setting)
  ]
}

/** The principal comes back, the fee does not; a collection is taken back from the merchant. */
export const returnFacts = (transaction: SimulatedTransaction, setting: Setting): ReadonlyArray<Fact> => {
  const returned = { ...transaction, returned: true, updatedAt: setting.now }
  const play = playOf(transaction.kind, transaction.ending)
  return [...takenBackFacts(transaction, setting.now), ...callbackJobFacts(returned, "returned", play.callbacks, setting)]
}

/** The same without a callback. */
export const takenBackFacts = (transaction: SimulatedTransaction, now: number): ReadonlyArray<Fact> => [
  walletFact(transaction, transaction.kind === "collection" ? -transaction.amount : transaction.amount + feeBack(transaction)),
  ...(transaction.kind === "exchange" ? [destinationWalletFact(transaction, -transaction.destinationAmount)] : []),
  { fact: "execution", execution: execution(transaction, "return", now) },
  { fact: "transaction", transaction: { ...transaction, returned: true, updatedAt: now } }
]

const feeBack = ({ fee, feeReturns }: SimulatedTransaction): bigint => (feeReturns === true ? fee : 0n)

/** The subject of a callback: a transaction, or a query. */
type Subject = Pick<SimulatedTransaction, "provider" | "account" | "id">

/** One callback that the provider sends now. */
export const callbackFact = (transaction: Subject, name: string, at: number, callback: OutgoingCallback): Fact =>
  jobFact(transaction, name, at, { kind: "callbacks", attempt: 0, callbacks: [callback] })

/** Long enough for the client to have read the response. */
export const FAILED_AFTER_MS = 300

/** For an order that a provider accepts and, for a reason, fails at once: the callback comes a little later. */
export const failsAtOnce = (
  reason: string | null,
  callbackOf: (transaction: SimulatedTransaction, planned: Pick<PlannedCallback, "says" | "signature">) => OutgoingCallback
) => ({
  status: reason === null ? ("pending" as const) : ("failed" as const),
  reason,
  alongside: (made: SimulatedTransaction): ReadonlyArray<Fact> => {
    if (reason === null) return []
    const callback = callbackOf(made, { says: "failed", signature: "genuine" })
    return [callbackFact(made, "callbacks", made.createdAt + FAILED_AFTER_MS, callback)]
  }
})

const outcome = (transaction: SimulatedTransaction, play: Play, now: number): SimulatedTransaction => {
  if (play.outcome === "stays_pending") return transaction
  if (play.outcome === "failed") {
    const reason = transaction.kind === "collection" ? "Payment was declined by the payer" : "Payout could not be delivered"
    return { ...transaction, status: "failed", reason, updatedAt: now }
  }
  const successful: SimulatedTransaction = { ...transaction, status: "successful", updatedAt: now }
  if (play.twist === "larger_fee") return { ...successful, fee: transaction.fee + LARGER_FEE }
  if (play.twist === "smaller_amount") {
    const amount = transaction.amount - (transaction.amount + 9n) / 10n
    return { ...successful, amount, destinationAmount: amount, fee: collectionFee(amount) }
  }
  return successful
}

const moneyFacts = (before: SimulatedTransaction, after: SimulatedTransaction, now: number): ReadonlyArray<Fact> => [
  { fact: "execution", execution: execution(after, after.kind, now) },
  ...{
    payout: () => (after.fee === before.fee ? [] : [walletFact(after, before.fee - after.fee)]),
    collection: () => [walletFact(after, after.amount - after.fee)],
    exchange: () => [walletFact(after, -after.amount), destinationWalletFact(after, after.destinationAmount)]
  }[after.kind]()
]

const callbackFacts = (settled: SimulatedTransaction, play: Play, setting: Setting, at: number): ReadonlyArray<Fact> => {
  const early = play.callbacks.filter(({ when }) => when === "before_response")
  const late = play.callbacks.filter(({ when }) => when === "after_settlement")
  return [
    ...callbackJobFacts(settled, "early", early, setting),
    ...callbackJobFacts(settled, "callbacks", late, { ...setting, at })
  ]
}

const callbackJobFacts = (
  transaction: SimulatedTransaction,
  name: string,
  planned: Play["callbacks"],
  { at, callback, now }: Setting & { readonly at?: number }
): ReadonlyArray<Fact> => {
  const callbacks = planned.flatMap((one) => callback(transaction, one, now) ?? [])
  return callbacks.length === 0 ? [] : [jobFact(transaction, name, at ?? now, { kind: "callbacks", attempt: 0, callbacks })]
}

/** The callbacks that must be sent before the response to the call that made the transaction. */
export const earlyJob = (transaction: SimulatedTransaction): string => jobId(transaction, "early")

const jobId = ({ provider, id }: Pick<Subject, "provider" | "id">, name: string) => `${provider}/${id}/${name}`

const jobFact = (transaction: Subject, name: string, at: number, work: Job["work"]): Fact => ({
  fact: "job",
  job: { id: jobId(transaction, name), at, provider: transaction.provider, account: transaction.account, work }
})

const walletFact = ({ account, currency, provider }: SimulatedTransaction, change: bigint): Fact => ({
  fact: "wallet",
  provider,
  account,
  currency,
  change
})

const destinationWalletFact = (transaction: SimulatedTransaction, change: bigint): Fact =>
  walletFact({ ...transaction, currency: transaction.destinationCurrency }, change)

const execution = (transaction: SimulatedTransaction, direction: Execution["direction"], now: number): Execution => ({
  provider: transaction.provider,
  direction,
  reference: transaction.id,
  client_reference: transaction.reference,
  amount_minor: Number(transaction.amount),
  currency: transaction.currency,
  status: "successful",
  at: DateTime.formatIso(DateTime.makeUnsafe(now))
})
