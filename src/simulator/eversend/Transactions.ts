import { DateTime, Effect, Schema } from "effect"
import type { Currency } from "../../domain/Currency.ts"
import { RawJson } from "../../domain/Json.ts"
import { toDecimal } from "../../domain/Money.ts"
import type { SimulatedTransaction } from "../Facts.ts"
import { type Call, PROVIDER, refuse, success } from "./Call.ts"

const LARGEST_PAGE = 100

export const decimal = (amount: bigint, currency: Currency): string =>
  amount < 0n ? `-${toDecimal(-amount, currency)}` : toDecimal(amount, currency)

/** As a JSON number, to the digit. */
export const number = (amount: bigint, currency: Currency): RawJson => new RawJson(decimal(amount, currency))

const iso = (at: number) => DateTime.formatIso(DateTime.makeUnsafe(at))

/** GET /transactions/{transactionId}: a list of one. */
export const transactionById = Effect.fnUntraced(function* (call: Call, id: string) {
  const transaction = call.context.account.transaction(PROVIDER, id)
  if (transaction === undefined || transaction.account !== call.merchant.clientId) {
    return yield* refuse(404, "Transaction not found")
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
  const filters = yield* Schema.decodeUnknownEffect(Filters)(Object.fromEntries(call.request.query)).pipe(
    Effect.mapError((error) => refuse(400, String(error)))
  )
  const found = searched(call, filters.search)
    .filter((transaction) => matches(transaction, filters))
    .toReversed()
  const limit = Math.min(Number(filters.limit ?? "10"), LARGEST_PAGE)
  const page = Number(filters.page ?? "1")
  return success({
    total_payouts: String(found.filter(({ kind }) => kind === "payout").length),
    total_collections: String(found.filter(({ kind }) => kind === "collection").length),
    balance: 0,
    transactions: found.slice((page - 1) * limit, page * limit).map(listed),
    total: found.length,
    limit,
    page
  })
})

// Those that have exactly this reference; else those whose reference or id contains it, as a search field would.
const searched = (call: Call, search: string | undefined): ReadonlyArray<SimulatedTransaction> => {
  const { account } = call.context
  const { clientId } = call.merchant
  if (search === undefined) return account.transactions(PROVIDER, clientId)
  const exact = account.byReference(PROVIDER, clientId, search)
  if (exact.length > 0) return exact
  return account
    .transactions(PROVIDER, clientId)
    .filter(({ id, reference }) => id.includes(search) || reference?.includes(search) === true)
}

const matches = (transaction: SimulatedTransaction, { currency, from, status, to, type }: Filters): boolean => {
  const day = iso(transaction.createdAt).slice(0, 10)
  return (
    (type === undefined || transaction.kind === type) &&
    (status === undefined || transaction.status === status) &&
    (currency === undefined || transaction.currency === currency) &&
    (from === undefined || day >= from) &&
    (to === undefined || day <= to)
  )
}

/** The members that every form of a transaction has. */
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
  amount: decimal(transaction.amount, transaction.currency),
  fees: transaction.kind === "exchange" ? null : decimal(transaction.fee, transaction.currency),
  sourceCurrency: transaction.kind === "exchange" ? null : transaction.currency,
  destinationCurrency: transaction.destinationCurrency,
  destinationAmount: decimal(transaction.destinationAmount, transaction.destinationCurrency),
  sourceCountry: transaction.detail.sourceCountry ?? null,
  destinationCountry: transaction.detail.destinationCountry ?? null,
  isRefunded: transaction.returned,
  beneficiary: transaction.kind === "payout" ? beneficiary(transaction) : null
})

/** As POST /payouts answers it: amount and fees are numbers. */
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
    destinationAmount: decimal(transaction.destinationAmount, transaction.destinationCurrency),
    destinationCountry: transaction.detail.destinationCountry ?? null,
    beneficiary: beneficiary(transaction)
  }
})

/** As POST /collections/momo answers it: without fees. */
export const createdCollection = (transaction: SimulatedTransaction) => ({
  ...common(transaction),
  amount: decimal(transaction.amount, transaction.currency),
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
