import { Effect } from "effect"
import type { Currency } from "../domain/Currency.ts"
import { iso } from "../domain/Instant.ts"
import { toDecimal } from "../domain/Money.ts"
import type { TransactionKind } from "../domain/Transaction.ts"
import { endingOf, type Gate, playOf } from "./Endings.ts"
import { type Fact, newTransaction, type SimulatedTransaction } from "./Facts.ts"
import { type ErrorResponses, passGate, type Stop, withFault } from "./Responses.ts"
import type { SimulatedRequest, SimulatedResponse, SimulatorContext } from "./SimulatedProvider.ts"

/** One merchant's account at a provider; live and test mode are two accounts. */
export interface Merchant {
  /** The simulator's name for it, which is public. */
  readonly clientId: string
}

/** An authenticated call, and its context in the frame. */
export interface MerchantCall<M extends Merchant = Merchant> {
  readonly provider: string
  readonly errors: ErrorResponses
  readonly context: SimulatorContext
  readonly merchant: M
  readonly request: SimulatedRequest
  readonly now: number
  /** Claims an event that may happen only once: true the first time that a key is seen in this process. */
  readonly claim: (key: string) => boolean
}

export const balanceOf = ({ context, merchant, provider }: MerchantCall, currency: Currency): bigint =>
  context.account.balance(provider, merchant.clientId, currency)

/** A balance in major units. No provider shows one below zero. */
export const shownBalance = (units: bigint, currency: Currency): string => toDecimal(units < 0n ? 0n : units, currency)

/** The caller's transactions of a kind, newest last. */
export const ownTransactions = (
  { context, merchant, provider }: MerchantCall,
  kind: TransactionKind
): ReadonlyArray<SimulatedTransaction> =>
  context.account.transactions(provider, merchant.clientId).filter((one) => one.kind === kind)

/** The caller's transactions with this reference, newest last. */
export const byReference = (
  { context, merchant, provider }: MerchantCall,
  kind: TransactionKind,
  reference: string
): ReadonlyArray<SimulatedTransaction> =>
  context.account.byReference(provider, merchant.clientId, reference).filter((one) => one.kind === kind)

/** The caller's transaction with this identifier of the provider. */
export const byId = (
  { context, merchant, provider }: MerchantCall,
  kind: TransactionKind,
  id: string
): SimulatedTransaction | undefined => {
  const found = context.account.transaction(provider, id)
  return found?.account === merchant.clientId && found.kind === kind ? found : undefined
}

const COUNTED = 1000

/** Sixteen digits for a new identifier: they are still exact as a JSON number. */
export const newDigits = ({ context, now }: MerchantCall): string =>
  `${now}${String(context.account.sequence() % COUNTED).padStart(3, "0")}`

/**
 * The gate of a read that names a person. Stops the call at the gates in `stopping`, and returns any other gate, for a provider
 * that reports it in its own way.
 */
export const gateOf = Effect.fnUntraced(function* (call: MerchantCall, number: string, stopping: ReadonlyArray<Gate>) {
  const play = playOf("payout", endingOf(number))
  if (stopping.includes(play.gate)) yield* passGate(call.errors, play)
  return play.gate
})

/** The transaction that a call requests. */
export interface Order extends Omit<Parameters<typeof newTransaction>[1], "provider" | "account"> {
  /** Replaces the call's own error responses. */
  readonly errors?: ErrorResponses
  /** The refusal where the wallet is too small; without it the provider fails the transaction later. */
  readonly short?: Stop
  /** A value that only one call may use: a reference, a token, a code. */
  readonly once?: { readonly key: string; readonly isUsed?: boolean; readonly refusal: Stop }
  /** Facts committed together with the transaction. */
  readonly alongside?: (transaction: SimulatedTransaction) => ReadonlyArray<Fact>
}

/** By an identifier of the client, which can only ever make one transaction. */
export const onceById = ({ context, provider }: MerchantCall, id: string, refusal: Stop, key = id): Required<Order>["once"] => ({
  key,
  isUsed: context.account.transaction(provider, id) !== undefined,
  refusal
})

/** Creates a transaction and plays its ending, unless ending, wallet or an earlier use forbids it. Responds accordingly. */
export const create = Effect.fnUntraced(function* (
  call: MerchantCall,
  order: Order,
  write: (transaction: SimulatedTransaction) => SimulatedResponse
) {
  const { alongside = () => [], errors = call.errors, once, short, ...own } = order
  yield* passGate(errors, playOf(own.kind, own.ending))
  if (short !== undefined && own.amount + own.fee > balanceOf(call, own.currency)) return yield* short
  if (once !== undefined && (once.isUsed === true || !call.claim(once.key))) return yield* once.refusal
  const transaction = newTransaction(call.now, { ...own, provider: call.provider, account: call.merchant.clientId })
  const fault = yield* call.context.accept(transaction, alongside(transaction))
  const response = write(transaction)
  return transaction.awaitsPayer ? response : withFault(errors, fault, response)
})

/** One page of a list, newest first. */
export const pageOf = <Row>(found: ReadonlyArray<Row>, { page, size }: { readonly page: number; readonly size: number }) => ({
  rows: found.toReversed().slice((page - 1) * size, page * size),
  total: found.length,
  pages: Math.ceil(found.length / size)
})

/** Whether a transaction began on one of these days, as "2026-01-31"; either end may be left open. */
export const isWithinDays = ({ createdAt }: SimulatedTransaction, from: string | undefined, to: string | undefined): boolean => {
  const day = iso(createdAt).slice(0, 10)
  return (from === undefined || day >= from) && (to === undefined || day <= to)
}
