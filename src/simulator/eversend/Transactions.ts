import { Effect, Schema } from "effect"
import { iso } from "../../domain/Instant.ts"
import { toDecimal } from "../../domain/Money.ts"
import { isWithinDays, pageOf } from "../Call.ts"
import type { PlannedCallback } from "../Endings.ts"
import type { SimulatedTransaction } from "../Facts.ts"
import { decodedOr } from "../Responses.ts"
import { type Call, number, refuse, success } from "./Responses.ts"

const LARGEST_PAGE = 100

/** GET /transactions/{transactionId}: a list of one. */
export const transactionById = Effect.fnUntraced(function* (call: Call, id: string) {
  const transaction = call.context.account.transaction(call.provider, id)
  if (transaction === undefined || transaction.account !== call.merchant.clientId) {
    return yield* refuse(404)
  }
  return success({ transactions: [listed(transaction)] })
})

const Filters = Schema.Struct({
  search: Schema.optionalKey(Schema.String),
  type: Schema.optionalKey(Schema.Literals(["payout", "collection", "exchange"])),
  status: Schema.optionalKey(Schema.Literals(["pending", "successful", "failed"])),
  currency: Schema.optionalKey(Schema.String),
  from: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^\d{4}-\d{2}-\d{2}$/))),
  to: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^\d{4}-\d{2}-\d{2}$/))),
  page: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^[1-9]\d{0,6}$/))),
  limit: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^[1-9]\d{0,3}$/)))
})
type Filters = typeof Filters.Type

/** GET /transactions, newest first. */
export const transactions = Effect.fnUntraced(function* (call: Call) {
  const filters = yield* decodedOr(Filters, Object.fromEntries(call.request.query), () => refuse(400))
  const found = searched(call, filters.search).filter((transaction) => matches(transaction, filters))
  const limit = Math.min(Number(filters.limit ?? "10"), LARGEST_PAGE)
  const page = Number(filters.page ?? "1")
  const { rows, total } = pageOf(found, { page, size: limit })
  return success({
    total_payouts: String(found.filter(({ kind }) => kind === "payout").length),
    total_collections: String(found.filter(({ kind }) => kind === "collection").length),
    balance: 0,
    transactions: rows.map(listed),
    total,
    limit,
    page
  })
})

// The transactions with exactly this reference; otherwise those whose reference or id contains it, as in a search field.
const searched = ({ context, merchant, provider }: Call, search: string | undefined): ReadonlyArray<SimulatedTransaction> => {
  const { account } = context
  const all = account.transactions(provider, merchant.clientId)
  if (search === undefined) return all
  const exact = account.byReference(provider, merchant.clientId, search)
  if (exact.length > 0) return exact
  return all.filter(({ id, reference }) => id.includes(search) || reference?.includes(search) === true)
}

const matches = (transaction: SimulatedTransaction, { currency, from, status, to, type }: Filters): boolean =>
  (type === undefined || transaction.kind === type) &&
  (status === undefined || transaction.status === status) &&
  (currency === undefined || transaction.currency === currency) &&
  isWithinDays(transaction, from, to)

/** The fields that every form of a transaction has. */
const common = (transaction: SimulatedTransaction) => ({
  transactionId: transaction.id,
  transactionRef: transaction.reference,
  type: transaction.kind,
  currency: transaction.currency,
  reason: transaction.reason,
  status: transaction.status,
  createdAt: iso(transaction.createdAt),
  updatedAt: iso(transaction.updatedAt)
})

/** As the lists write it: amounts are strings. */
const listed = (transaction: SimulatedTransaction) => ({
  ...common(transaction),
  amount: toDecimal(transaction.amount, transaction.currency),
  fees: transaction.kind === "exchange" ? null : toDecimal(transaction.fee, transaction.currency),
  sourceCurrency: transaction.kind === "exchange" ? null : transaction.currency,
  destinationCurrency: transaction.destinationCurrency,
  destinationAmount: toDecimal(transaction.destinationAmount, transaction.destinationCurrency),
  sourceCountry: transaction.detail.sourceCountry ?? null,
  destinationCountry: transaction.detail.destinationCountry ?? null,
  isRefunded: transaction.returned,
  beneficiary: transaction.kind === "payout" ? beneficiary(transaction) : null
})

/** In the response to POST /payouts: amount and fees are numbers. */
export const createdPayout = (transaction: SimulatedTransaction) => ({
  transaction: {
    ...common(transaction),
    amount: number(transaction.amount, transaction.currency),
    fees: number(transaction.fee, transaction.currency),
    userId: 3,
    balanceBefore: 0,
    balanceAfter: 0,
    sourceCurrency: transaction.currency,
    destinationCurrency: transaction.destinationCurrency,
    destinationAmount: toDecimal(transaction.destinationAmount, transaction.destinationCurrency),
    destinationCountry: transaction.detail.destinationCountry ?? null,
    beneficiary: beneficiary(transaction)
  }
})

/** In the response to POST /collections/momo: without fees. */
export const createdCollection = (transaction: SimulatedTransaction) => ({
  ...common(transaction),
  amount: toDecimal(transaction.amount, transaction.currency),
  balanceBefore: null,
  balanceAfter: null
})

const beneficiary = ({ detail }: SimulatedTransaction) => ({
  id: 272,
  firstName: detail.firstName ?? null,
  lastName: detail.lastName ?? null,
  phoneNumber: detail.phoneNumber ?? null,
  country: detail.destinationCountry ?? null,
  bankCode: detail.bankCode ?? null,
  bankName: detail.bankName ?? null,
  bankAccountName: detail.bankAccountName ?? null,
  bankAccountNumber: detail.bankAccountNumber ?? null
})

// With white space that no serialiser would produce, so that a signature check passes only over the bytes as sent.
export const callbackBody = (transaction: SimulatedTransaction, says: PlannedCallback["says"]): string => {
  const { amount, currency, id, kind, reference, returned } = transaction
  const word = { successful: "success", failed: "failed", pending: "pending" }[says]
  const subject = kind === "exchange" ? "transaction" : kind
  const sum = kind === "payout" ? JSON.stringify(toDecimal(amount, currency)) : toDecimal(amount, currency)
  return `{ "type" :${JSON.stringify(`${subject}.${returned ? "refunded" : word}`)},\n\t"data":  {"transactionRef": ${JSON.stringify(reference)} ,"transactionId":${JSON.stringify(id)}, "amount" : ${sum},"currency":"${currency}",\n "status": "${says}" } }\n`
}
