import { Effect } from "effect"
import { iso } from "../../domain/Instant.ts"
import { toDecimal } from "../../domain/Money.ts"
import { OPENING_BALANCE } from "../Account.ts"
import type { SimulatedTransaction } from "../Facts.ts"
import { type Call, json } from "./Responses.ts"
import { isOfWallet, transactionId } from "./Transactions.ts"

const PAGE_SIZE = 100

/** One movement of a wallet's money. */
interface Movement {
  readonly of: SimulatedTransaction
  readonly type: string
  readonly at: number
  /** The change of the balance. */
  readonly change: bigint
  readonly fee: bigint
}

/** Newest last. A reversal returns a payout with its fee; a refund takes the whole amount, and the charge's fee is kept. */
const movementsOf = (call: Call): ReadonlyArray<Movement> => {
  const { context, merchant, provider } = call
  const own = context.account.transactions(provider, merchant.clientId).filter((one) => isOfWallet(call, one))
  const all = own.flatMap((of): ReadonlyArray<Movement> => {
    const { amount, createdAt, fee, kind, returned, status, updatedAt } = of
    const isPayout = kind === "payout"
    if (isPayout ? status === "failed" : status !== "successful") return []
    const change = isPayout ? -(amount + fee) : amount - fee
    const moved = { of, type: isPayout ? "api_payout" : "api_checkout", at: createdAt, change, fee }
    if (!returned) return [moved]
    return [
      moved,
      isPayout
        ? { of, type: "api_payout_reversal", at: updatedAt, change: amount + fee, fee }
        : { of, type: "api_checkout_refund", at: updatedAt, change: -amount, fee: 0n }
    ]
  })
  return all.toSorted((a, b) => a.at - b.at)
}

export const walletBalance = (call: Call): bigint => movementsOf(call).reduce((sum, { change }) => sum + change, OPENING_BALANCE)

const rowOf = ({ at, change, fee, of, type }: Movement, balance: bigint) => {
  const { currency, detail, id, kind, reference } = of
  return {
    timestamp: iso(at),
    transaction_id: transactionId(of),
    transaction_type: type,
    amount: toDecimal(change, currency),
    fee: toDecimal(fee, currency),
    balance: toDecimal(balance, currency),
    currency,
    is_reversal: type.endsWith("_reversal"),
    counterparty_mobile: detail.mobile,
    ...(reference === null ? {} : { client_reference: reference }),
    ...(kind === "collection" ? { checkout_api_session_id: id } : {})
  }
}

/** GET /v1/transactions?date=2026-01-31&after=…: the money that moved on a UTC day, newest first. */
export const listTransactions = (call: Call) => {
  const { query } = call.request
  const date = query.get("date") ?? iso(call.now).slice(0, "2026-01-31".length)
  let balance = OPENING_BALANCE
  const rows = movementsOf(call).flatMap((movement) => {
    balance += movement.change
    return iso(movement.at).startsWith(date) ? [rowOf(movement, balance)] : []
  })
  const begin = Number(/^\d{1,9}$/.exec(query.get("after") ?? "")?.[0] ?? "0")
  const end = begin + PAGE_SIZE
  const page_info = { start_cursor: String(begin), end_cursor: String(end), has_next_page: rows.length > end }
  return Effect.succeed(json(200, { page_info, date, items: rows.toReversed().slice(begin, end) }))
}
