import { Option, Schema } from "effect"
import type { Reported } from "../../domain/CallbackReport.ts"
import type { Reference } from "../../domain/Ids.ts"
import type { MinorUnits } from "../../domain/Money.ts"
import type { PayoutOutcome, StatusOutcome, StatusQuery } from "../../services/ports/Provider.ts"
import { decoded, type FactWithAlarm, type Unknown, unreadable, withoutAlarm } from "../AnswerParsing.ts"
import { acceptedAs, asCreateOutcome, type MoneyCallAnswer, moneyCallAnswer, onceNotFound } from "../Movements.ts"
import { answerBy, isOtherParty, type Shown, sumOf, vocabulary } from "../ProviderStatus.ts"
import { refusedUnsaid } from "../Refusals.ts"
import type { ProviderResponse } from "../Transport.ts"
import {
  DUPLICATE,
  errorCodeOf,
  failureBy,
  type failures,
  identity,
  isUnasked,
  PROMPT_GOES_ON,
  refusal,
  shownCode
} from "./Refusals.ts"
import {
  Acknowledged,
  accountReferenceOf,
  ChargeAnswer,
  ChargeCallback,
  ChargeStatusAnswer,
  conversationIdOf,
  instantOf,
  PullAnswer,
  PullRow,
  parametersOf,
  pulledInstantOf,
  Result,
  textOf
} from "./Wire.ts"

const CURRENCY = "KES"
const { readAsUnknown } = identity

/** The meaning of a prompt's or payout's result code. Undefined when the code has no meaning here; it is then never a failure. */
export const standingBy = (kind: keyof typeof failures, code: string): Reported | undefined => {
  if (code === "0") return "successful"
  if (code === "4999" || code === PROMPT_GOES_ON) return "pending"
  return failureBy(kind, code) === undefined ? undefined : "failed"
}

/**
 * The response to the call that shows a prompt. Without its CheckoutRequestID the charge cannot be polled. `handle` derives the
 * name that may be shown.
 */
export const chargePosted = (
  response: ProviderResponse,
  handle: (checkoutRequestId: string) => string
): MoneyCallAnswer<PayoutOutcome> =>
  moneyCallAnswer<typeof ChargeAnswer.Type, PayoutOutcome>(response, {
    readAsUnknown,
    refused: refusal(response, "charge"),
    schema: ChargeAnswer,
    read: ({ CheckoutRequestID, ResponseCode }) =>
      ResponseCode === "0"
        ? withoutAlarm(acceptedAs({ providerReference: handle(CheckoutRequestID), note: "ResponseCode 0" }))
        : unreadable("a prompt is answered with a code that has no meaning here", ResponseCode)
  })

/** The response to the call that pays. After a repeated OriginatorConversationID the status decides. */
export const payoutPosted = (response: ProviderResponse, reference: Reference): MoneyCallAnswer<PayoutOutcome> => {
  const repeated: MoneyCallAnswer<PayoutOutcome> = {
    confirm: (looked) => asCreateOutcome(looked, "Safaricom knows an OriginatorConversationID and says nothing of it")
  }
  return moneyCallAnswer<typeof Acknowledged.Type, PayoutOutcome>(response, {
    readAsUnknown,
    refused: errorCodeOf(response) === DUPLICATE ? repeated : onceNotFound(refusal(response, "payout")),
    schema: Acknowledged,
    read: ({ ResponseCode }) =>
      ResponseCode === "0"
        ? withoutAlarm(acceptedAs({ providerReference: conversationIdOf(reference), note: "ResponseCode 0" }))
        : repeated
  })
}

/** The CheckoutRequestID of an accepted prompt. */
export const promptTaken = (response: ProviderResponse): Option.Option<string> =>
  Option.map(
    Option.filter(decoded(ChargeAnswer, response), ({ ResponseCode }) => ResponseCode === "0"),
    ({ CheckoutRequestID }) => CheckoutRequestID
  )

/** The report in a prompt's callback. It is trusted only together with the answer to a query. */
export interface ReportedPrompt {
  readonly id: string
  readonly code: string
  readonly amount: string | null
  readonly receipt: string | null
  readonly number: string | null
}

export const promptIn = (body: unknown): ReportedPrompt | null =>
  Option.match(readCallback(body), {
    onNone: () => null,
    onSome: ({ Body: { stkCallback } }) => {
      const item = (name: string): string | null =>
        Option.getOrNull(textOf(stkCallback.CallbackMetadata?.Item.find(({ Name }) => Name === name)?.Value))
      const { CheckoutRequestID: id, ResultCode: code } = stkCallback
      return { id, code, amount: item("Amount"), receipt: item("MpesaReceiptNumber"), number: item("PhoneNumber") }
    }
  })
const readCallback = Schema.decodeUnknownOption(ChargeCallback)
export const resultIn = Schema.decodeUnknownOption(Result)

/** The ConversationID that acknowledges a query. Without one the query gets no answer. */
export const conversationIn = (response: ProviderResponse): Option.Option<string> =>
  Option.flatMap(decoded(Acknowledged, response), ({ ConversationID, ResponseCode }) =>
    ResponseCode === "0" && ConversationID ? Option.some(ConversationID) : Option.none()
  )

/** The answer to the query with this ConversationID; any other answer is ignored. */
export const answerIn = (came: Option.Option<unknown>, conversation: string): Option.Option<Result> =>
  Option.filter(Option.flatMap(came, resultIn), ({ Result: { ConversationID } }) => ConversationID === conversation)

/** A charge to look up. */
export interface AskedCharge {
  readonly order: StatusQuery
  readonly fee: (amount: MinorUnits) => MinorUnits | null
  /** Whether a whole number is the payer's. False for every number when the hash was not stored. */
  readonly isPayer: (digits: string) => boolean
}

/** Whether a payment is this charge's: the same amount and the whole number. A masked one could be another person's. */
const isPaymentOf = ({ isPayer, order }: AskedCharge, amount: string | null | undefined, number: string | null | undefined) =>
  isPayer((number ?? "").trim().replace(/^\+|^0(?=\d{9}$)/, (start) => (start === "0" ? "254" : ""))) &&
  sumOf({ amount, currency: CURRENCY })?.amount === order.charge?.amount

/** Whether a report says that this charge was paid: then the prompt that it names may be queried. */
export const isPaidReport = ({ amount, code, number }: ReportedPrompt, asked: AskedCharge): boolean =>
  code === "0" && isPaymentOf(asked, amount, number)

interface AskedPrompt extends Omit<AskedCharge, "isPayer"> {
  readonly id: string
  /** The derived name for it that may be shown. */
  readonly handle: string
  readonly reported: ReportedPrompt | null
}

/** The answer to a query about a prompt. It names no amount; a payer cannot pay any other amount with it. */
export const promptFound = (
  response: ProviderResponse,
  { fee, handle, id, order, reported }: AskedPrompt
): FactWithAlarm<StatusOutcome> => {
  if (errorCodeOf(response) === PROMPT_GOES_ON)
    return withoutAlarm({ _tag: "StillPending", providerReference: handle, note: "the prompt is being processed" })
  const answer = decoded(ChargeStatusAnswer, response)
  if (Option.isNone(answer)) return readAsUnknown(response)
  const { CheckoutRequestID, ResultCode: code } = answer.value
  const own = reported !== null && reported.id === id && reported.code === "0" ? reported : null
  const amount = sumOf({ amount: own?.amount, currency: CURRENCY })?.amount ?? order.charge?.amount
  const failure = failureBy("collection", code)
  return answerBy({
    kind: "collection",
    isOurs: (CheckoutRequestID ?? id) === id,
    status: `result ${shownCode(code)}`,
    standing: standingBy("collection", code),
    isUnsure: failure?.isUnsure === true,
    providerReference: handle,
    receipt: own?.receipt,
    note: `result ${shownCode(code)}`,
    sum: amount === undefined ? undefined : { amount, currency: CURRENCY, fee: fee(amount) },
    refusal: failure ?? refusedUnsaid
  })
}

/**
 * The payment, among those of the last 48 hours, that names the charge and matches it. Its absence proves nothing. When there
 * are two, an operator decides what the other one is for.
 */
export const pulled = (response: ProviderResponse, asked: AskedCharge): FactWithAlarm<StatusOutcome> => {
  const answer = decoded(PullAnswer, response)
  if (Option.isNone(answer) || !listed.has(answer.value.ResponseCode)) return readAsUnknown(response)
  const handle = accountReferenceOf(asked.order.reference)
  const rows = (answer.value.Response ?? []).flat().flatMap((row) => Option.toArray(readRow(row)))
  const naming = rows.filter(({ billreference }) => billreference?.trim().toUpperCase() === handle)
  if (naming.length === 0) return withoutAlarm({ _tag: "NotFound", note: "no payment names it, which proves nothing" })
  const fitting = new Map(naming.flatMap((row) => (isPulledFor(asked, row) ? [[row.transactionId, row] as const] : [])))
  const [row] = fitting.values()
  if (row === undefined) return unreadable("payments name a charge, and not one of them is as it was asked", "pulled")
  if (fitting.size > 1) return severalPaid
  return paidBy(asked, row.amount, {
    isOurs: true,
    status: "pulled",
    standing: "successful",
    providerReference: null,
    receipt: row.transactionId,
    note: "among the payments that were pulled"
  })
}

/** A payment that names the charge. */
const paidBy = ({ fee }: AskedCharge, amount: string | undefined, shown: Omit<Shown, "kind" | "sum" | "refusal">) => {
  const sum = sumOf({ amount, currency: CURRENCY })
  return answerBy({ kind: "collection", ...shown, sum: sum && { ...sum, fee: fee(sum.amount) }, refusal: refusedUnsaid })
}

const isPulledFor = (asked: AskedCharge, { amount, msisdn, trxDate }: typeof PullRow.Type): boolean => {
  const at = pulledInstantOf(trxDate ?? "")
  // Whether the seconds of this time are exact is not documented.
  return isPaymentOf(asked, amount, msisdn) && at !== null && at + MINUTE_MS > asked.order.sentAt
}
const MINUTE_MS = 60_000
const severalPaid = unreadable("several payments name a charge, and are as it was asked: one of them is to be given back", "paid")

const listed: ReadonlySet<string> = new Set(["1000", "1001"])
const readRow = Schema.decodeUnknownOption(PullRow)

/** The states in a TransactionStatus answer. */
const standingOf = vocabulary({
  pending: ["Authorized", "Initiated", "Pending"],
  successful: ["Completed"],
  failed: ["Cancelled", "Declined", "Expired"]
})

/**
 * The answer to a query about a payout. Only a status proves a failure. The report to its result address gives the reason, if
 * it is final and names this payout; without such a status it proves nothing.
 */
export const payoutFound = (asked: Result, reported: Result | null, order: StatusQuery): FactWithAlarm<StatusOutcome> => {
  const without = withoutTransaction(asked)
  if (without !== undefined) return without
  const providerReference = conversationIdOf(order.reference)
  const said = parametersOf(asked)
  const status = said.get("TransactionStatus") ?? ""
  const sum = sumOf({ amount: said.get("Amount"), currency: CURRENCY, fee: feeIn(said.get("DebitPartyCharges")) })
  return answerBy({
    kind: "payout",
    isOurs: said.get("OriginatorConversationID") === providerReference,
    isOfAnother: isOtherParty(order.party, said.get("CreditPartyName")?.split(" - ")[0]),
    status,
    standing: standingOf(status),
    providerReference,
    receipt: said.get("ReceiptNo"),
    note: `status ${status}`,
    sum,
    refusal: reasonIn(reported, providerReference) ?? refusedUnsaid
  })
}

const reasonIn = (reported: Result | null, id: string) => {
  if (reported === null) return undefined
  const { OriginatorConversationID, ResultCode, ResultType } = reported.Result
  return ResultType === "0" && OriginatorConversationID === id ? failureBy("payout", ResultCode) : undefined
}

/** The state of a charge according to one receipt. */
export interface ConfirmedPayment {
  readonly found: FactWithAlarm<StatusOutcome>
  /** Whether the payment was read and does not pay the charge. */
  readonly isOther: boolean
}

/**
 * The payment of a charge, from the confirmed payments and the list. When there are two, an operator decides what the other one
 * is for. A payment of which nothing is known yet may be the second one.
 */
export const onlyPayment = (
  confirmed: ReadonlyArray<ConfirmedPayment>,
  listedOne: FactWithAlarm<StatusOutcome>
): FactWithAlarm<StatusOutcome> => {
  const found = [listedOne, ...confirmed.map((one) => one.found)]
  const paying = found.filter(({ fact }) => fact._tag === "Succeeded")
  const receipts = new Set(paying.map(({ fact }) => (fact._tag === "Succeeded" ? fact.receipt : undefined)))
  if (listedOne === severalPaid || receipts.size > 1) return severalPaid
  if (listedOne.fact._tag === "Succeeded") return listedOne
  const open = confirmed.find((one) => !one.isOther && one.found.fact._tag !== "Succeeded")
  return open?.found ?? paying[0] ?? confirmed[0]?.found ?? listedOne
}

interface AskedPayment extends AskedCharge {
  readonly receipt: string
  /** The paybill and its till. */
  readonly payees: ReadonlyArray<string | null>
}

/**
 * The same for a payment to the paybill that was queried by its receipt. The answer does not name the charge, so every detail
 * must match it, and the payment must not be older than the charge.
 */
export const paymentFound = (asked: Result, charge: AskedPayment): ConfirmedPayment => {
  const { order, payees, receipt } = charge
  const without = withoutTransaction(asked)
  if (without !== undefined) return { found: without, isOther: false }
  const said = parametersOf(asked)
  const status = said.get("TransactionStatus") ?? ""
  const amount = said.get("Amount")
  const nameOf = (party: string) => said.get(party)?.split(" - ")[0]?.trim() ?? ""
  const began = instantOf(said.get("InitiatedTime") ?? said.get("FinalisedTime") ?? "")
  const isOurs =
    said.get("ReceiptNo") === receipt &&
    payees.includes(nameOf("CreditPartyName")) &&
    isPaymentOf(charge, amount, nameOf("DebitPartyName")) &&
    // Its time has no milliseconds.
    began !== null &&
    began + SECOND_MS > order.sentAt
  const standing = standingOf(status)
  const found = paidBy(charge, amount, {
    isOurs,
    status,
    // Another payment of the charge may still arrive.
    standing: standing === "failed" ? "pending" : standing,
    providerReference: order.providerReference,
    receipt,
    note: `status ${status} of a payment that names it`
  })
  return { found, isOther: !isOurs || standing === "failed" }
}

const SECOND_MS = 1_000

/**
 * Undefined when the answer is about a transaction. No document names a code for "not found", so a code that does not mean a
 * failed query is treated as one, and proves nothing.
 */
const withoutTransaction = ({ Result: { ResultCode, ResultType } }: Result): FactWithAlarm<StatusOutcome> | undefined => {
  const code = shownCode(ResultCode)
  if (ResultType === "1")
    return withoutAlarm({ _tag: "StillPending", providerReference: null, note: "more of the answer follows" })
  if (ResultCode === "0") return undefined
  if (isUnasked(ResultCode))
    return {
      fact: { _tag: "Unknown", reason: "unavailable", note: `a question failed with ${code}` },
      alarm: `a question at Safaricom fails with ${code}`
    }
  return withoutAlarm({ _tag: "NotFound", note: `a question is answered with ${code}, which proves nothing` })
}

/** `Fee For B2C Payment|KES|11.00`. Any other form is ignored, and the reserved fee stands. */
const feeIn = (charges: string | undefined): string | null =>
  /^[^|]*\|KES\|(\d+(?:\.\d{1,2})?)$/.exec(charges?.trim() ?? "")?.[1] ?? null

export const unanswered: FactWithAlarm<Unknown> = withoutAlarm({
  _tag: "Unknown",
  reason: "timeout",
  note: "the answer to a question has not come yet"
})
