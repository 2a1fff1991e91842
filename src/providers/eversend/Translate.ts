import { Option, Result, Schema } from "effect"
import { type Currency, isCurrency } from "../../domain/Currency.ts"
import type { TransactionKind } from "../../domain/Transaction.ts"
import type { ChargeOrder, ChargeOutcome, PayoutOutcome, StatusOutcome, StatusQuery } from "../../services/ports/Provider.ts"
import { decoded, type FactWithAlarm, unreadable, withoutAlarm } from "../AnswerParsing.ts"
import {
  asAccepted,
  type ExpectedTransaction,
  expectedOf,
  isPage,
  type MoneyCallAnswer,
  moneyCallAnswer,
  nothingObserved
} from "../Movements.ts"
import { answerBy, majorUnits, type Sum, sumOf, vocabulary } from "../ProviderStatus.ts"
import { nameIn, readRow } from "../Rows.ts"
import { instantIn } from "../Statements.ts"
import type { ProviderResponse } from "../Transport.ts"
import { codeRefusal, failureBy, identity, moneyCallRefusal } from "./Refusals.ts"
import { MomoCollectionAnswer, PayoutAnswer, Transaction, TransactionAnswer, TransactionsAnswer } from "./Wire.ts"

type Wire = typeof Transaction.Type

const { readAsUnknown } = identity

export const standingOf = vocabulary({ pending: ["pending"], successful: ["successful"], failed: ["failed"] })

/** The response to POST /payouts. */
export const payoutOutcome = (response: ProviderResponse, expected: ExpectedTransaction): MoneyCallAnswer<PayoutOutcome> =>
  moneyCallAnswer(response, {
    refused: moneyCallRefusal("payout", response),
    schema: PayoutAnswer,
    readAsUnknown,
    read: ({ data }) => outcomeOf("payout", data.transaction, expected)
  })

/** The response to POST /collections/momo. */
export const chargeOutcome = (response: ProviderResponse, order: ChargeOrder): MoneyCallAnswer<ChargeOutcome> =>
  moneyCallAnswer<typeof MomoCollectionAnswer.Type, ChargeOutcome>(response, {
    refused: (order.otp === null ? undefined : codeRefusal(response)) ?? moneyCallRefusal("collection", response),
    schema: MomoCollectionAnswer,
    readAsUnknown,
    read: ({ data }) => {
      const reading = outcomeOf("collection", data, expectedOf(order))
      const { fact } = reading
      const page = data.redirectUrl ?? data.redirect_url ?? data.authorizationUrl ?? data.paymentLink ?? null
      // In other corridors the URL is not a payment page: it may be the tenant's own URL, echoed.
      if (fact._tag !== "Accepted" || order.corridor.customerAction !== "redirect") return reading
      if (page === null || page === order.redirectUrl || !isPage(page))
        return unreadable("it has to be paid on a page, and the answer names none", data.status)
      return withoutAlarm({ ...fact, _tag: "NeedsRedirect", redirectUrl: page })
    }
  })

/** The fee of so recent a payment is not final (0 in Eversend's own example) or missing, so even a success is polled. */
const outcomeOf = (kind: TransactionKind, wire: Wire, expected: ExpectedTransaction): FactWithAlarm<PayoutOutcome> => {
  const sum = amountsOf(wire, expected.currency)
  const observed = sum === undefined ? nothingObserved : { observedAmount: sum.amount, observedCurrency: sum.currency }
  const isPaid = sum !== undefined && wire.status === "successful" && wire.isRefunded !== true
  const fresh = isPaid ? { ...wire, status: "pending" } : wire
  return asAccepted(answerOf(kind, fresh, expected), observed)
}

/** The transaction in the response of GET /transactions/{id}; undefined when that identifier has none, or not ours. */
export const foundById = (
  kind: TransactionKind,
  order: StatusQuery,
  response: ProviderResponse
): FactWithAlarm<StatusOutcome> | undefined => {
  if (response._tag === "Answered" && response.status === 404) return undefined
  const answer = decoded(TransactionAnswer, response)
  if (Option.isNone(answer)) return readAsUnknown(response)
  const { data } = answer.value
  const listed = "transactions" in data ? data.transactions : [data]
  const own = listed.filter((wire) => isOurs(kind, wire, order.reference))
  return own[0] === undefined ? undefined : decisive(kind, own, order)
}

/** One page of GET /transactions: what it says about our transaction, or whether the list continues. */
export const foundInPage = (
  kind: TransactionKind,
  order: StatusQuery,
  response: ProviderResponse,
  pageSize: number
): FactWithAlarm<StatusOutcome> | "ended" | "goes_on" => {
  const answer = decoded(TransactionsAnswer, response)
  if (Option.isNone(answer)) return readAsUnknown(response)
  const rows = answer.value.data.transactions.map((raw) => ({ raw, read: readTransaction(raw) }))
  if (rows.some(({ raw, read }) => Result.isFailure(read) && mayBe(raw, order)))
    return withoutAlarm({ _tag: "Unknown", reason: "bad_response", note: "a transaction that cannot be read is listed" })
  const transactions = rows.flatMap(({ read }) => Option.toArray(Result.getSuccess(read)))
  const own = transactions.filter(
    (wire) => wire.transactionRef === order.reference && isOurs(kind, wire, order.reference) && !isAttempt(wire, order)
  )
  if (own.length > 0) return decisive(kind, own, order)
  if (transactions.some((wire) => !wire.transactionRef && isOurs(kind, wire, order.reference)))
    return withoutAlarm({ _tag: "Unknown", reason: "bad_response", note: "a transaction without a reference is listed" })
  if (transactions.some(({ transactionRef, type }) => transactionRef === order.reference && !isKind(type)))
    return withoutAlarm({ _tag: "Unknown", reason: "bad_response", note: "a transaction of an unknown type is listed" })
  return rows.length < pageSize ? "ended" : "goes_on"
}

const readTransaction = readRow(Transaction)
/** A row that cannot be parsed belongs to another transaction only if it names another reference. */
const mayBe = (raw: unknown, { reference }: StatusQuery): boolean => (nameIn(raw, "transactionRef") ?? reference) === reference

// Two executions with one reference: whatever their states, the money has moved twice, or may have.
const decisive = (kind: TransactionKind, own: ReadonlyArray<Wire>, order: StatusQuery): FactWithAlarm<StatusOutcome> => {
  const [first] = own
  if (first === undefined) return unreadable("nothing was found", "")
  const several = own.some((wire) => wire.transactionId !== first.transactionId)
  return several
    ? unreadable("Eversend has more than one transaction by one reference", first.status)
    : answerOf(kind, first, order)
}

/** The failed attempt of a wrong code, if Eversend lists such attempts. Only the state of the whole charge ends the charge. */
const isAttempt = ({ status }: Wire, { wrongCode }: StatusQuery): boolean => wrongCode === true && standingOf(status) === "failed"

/** A response need not repeat our reference or the kind, but one that names others is about another transaction. */
const isOurs = (kind: TransactionKind, { transactionRef, type }: Wire, reference: string): boolean =>
  // An empty member counts as absent.
  (!transactionRef || transactionRef === reference) && (!type || type === kind)

const isKind = Schema.is(Schema.Literals(["payout", "collection", "exchange"] satisfies ReadonlyArray<TransactionKind>))

const answerOf = (
  kind: TransactionKind,
  wire: Wire,
  { currency, reference }: ExpectedTransaction
): FactWithAlarm<StatusOutcome> => {
  const { isRefunded, reason, status, transactionId, updatedAt } = wire
  const standing = standingOf(status)
  const matches = isOurs(kind, wire, reference)
  // Refunded before it was delivered, or about to be: nothing says which.
  if (matches && standing === "pending" && isRefunded === true) return unreadable("refunded while pending", status)
  const isReturned = standing === "successful" && isRefunded === true
  return answerBy({
    kind,
    isOurs: matches,
    status,
    standing: isReturned ? "returned" : standing,
    providerReference: transactionId,
    note: isReturned ? `status ${status}, refunded` : `status ${status}`,
    sum: kind === "exchange" ? exchangedSumOf(wire, currency) : deliveredSumOf(wire, currency),
    refusal: failureBy(kind, reason),
    returnedAt: instantIn(updatedAt)
  })
}

/** The amount that left the float, and the amount that the exchange yielded; undefined when either cannot be parsed. */
const exchangedSumOf = (wire: Wire, currency: Currency) => {
  const sum = amountsOf(wire, currency)
  const exchanged = broughtBy(wire.destinationAmount, wire.destinationCurrency)
  return sum === undefined || exchanged === undefined ? undefined : { ...sum, exchanged }
}

/** The amount that left the float, and what the recipient got of a payout in another currency, where Eversend says it. */
const deliveredSumOf = (wire: Wire, currency: Currency) => {
  const sum = amountsOf(wire, currency)
  const exchanged =
    wire.destinationCurrency === currency ? undefined : broughtBy(wire.destinationAmount, wire.destinationCurrency)
  return sum === undefined || exchanged === undefined ? sum : { ...sum, exchanged }
}

/**
 * `amount` is the principal without `fees`, both in `currency`; for a payout that is the currency of the paying wallet,
 * whatever the recipient got (`destinationAmount`). Without a currency, the stored one is used and not reported.
 */
const amountsOf = ({ amount, currency, fees, sourceCurrency }: Wire, stored: Currency): Sum | undefined => {
  const named = currency ?? sourceCurrency ?? null
  const sum = sumOf({ amount, currency: named ?? stored, fee: fees })
  return sum !== undefined && named === null ? { ...sum, currency: null } : sum
}

/** The amount that an exchange yielded: rounded down to its currency, and as Eversend wrote it. */
export const broughtBy = (raw: string | null | undefined, currency: string | null | undefined) => {
  if (raw === null || raw === undefined || !isCurrency(currency)) return undefined
  const amount = majorUnits.down(raw, currency)
  return Result.isFailure(amount) ? undefined : { amount: amount.success, currency, raw }
}
