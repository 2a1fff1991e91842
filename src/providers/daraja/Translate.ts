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

/** The standing of a prompt or a payout by its result code. Undefined where the code has no meaning here: that is never a failure. */
export const standingBy = (kind: keyof typeof failures, code: string): Reported | undefined => {
  if (code === "0") return "successful"
  if (code === "4999" || code === PROMPT_GOES_ON) return "pending"
  return failureBy(kind, code) === undefined ? undefined : "failed"
}

/** The answer to the call that has a prompt shown. Without its CheckoutRequestID nothing can be asked; `handle` is what may be shown of that. */
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

/** The answer to the call that pays. After a repeated OriginatorConversationID its status decides. */
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

/** The CheckoutRequestID of a prompt that was taken. */
export const promptTaken = (response: ProviderResponse): Option.Option<string> =>
  Option.map(
    Option.filter(decoded(ChargeAnswer, response), ({ ResponseCode }) => ResponseCode === "0"),
    ({ CheckoutRequestID }) => CheckoutRequestID
  )

/** The report of a prompt's callback, which is only believed beside an answer to a question. */
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

/** The ConversationID that acknowledges a question. One that is acknowledged without it has no answer. */
export const conversationIn = (response: ProviderResponse): Option.Option<string> =>
  Option.flatMap(decoded(Acknowledged, response), ({ ConversationID, ResponseCode }) =>
    ResponseCode === "0" && ConversationID ? Option.some(ConversationID) : Option.none()
  )

/** The answer to the question that was acknowledged so. Another one is none. */
export const answerIn = (came: Option.Option<unknown>, conversation: string): Option.Option<Result> =>
  Option.filter(Option.flatMap(came, resultIn), ({ Result: { ConversationID } }) => ConversationID === conversation)

/** A charge that is looked for. */
export interface AskedCharge {
  readonly order: StatusQuery
  readonly fee: (amount: MinorUnits) => MinorUnits | null
  /** Whether a whole number is its payer's. None is where what it is compared with was not kept. */
  readonly isPayer: (digits: string) => boolean
}

/**
 * Whether a payment is this charge's: to the shilling, and from the payer's whole number. One that is masked or cut could be another person's, however many
 * of its digits are the same.
 */
const isPaymentOf = ({ isPayer, order }: AskedCharge, amount: string | null | undefined, number: string | null | undefined) =>
  isPayer((number ?? "").trim().replace(/^\+|^0(?=\d{9}$)/, (start) => (start === "0" ? "254" : ""))) &&
  sumOf({ amount, currency: CURRENCY })?.amount === order.charge?.amount

/** Whether a report says that this charge was paid: the prompt that it names may be asked about. */
export const isPaidReport = ({ amount, code, number }: ReportedPrompt, asked: AskedCharge): boolean =>
  code === "0" && isPaymentOf(asked, amount, number)

interface AskedPrompt extends Omit<AskedCharge, "isPayer"> {
  readonly id: string
  /** The name for it that may be shown. */
  readonly handle: string
  readonly reported: ReportedPrompt | null
}

/** The answer to a question about a prompt. It names no amount: nobody can pay another one by it than it asked for. */
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
 * Among the payments of the last 48 hours, the one that names the charge and is as that was asked. Its absence proves nothing; of two, whose the other one is
 * is a person's to say.
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
  // Whether its seconds are exact is not published.
  return isPaymentOf(asked, amount, msisdn) && at !== null && at + MINUTE_MS > asked.order.sentAt
}
const MINUTE_MS = 60_000
const severalPaid = unreadable("several payments name a charge, and are as it was asked: one of them is to be given back", "paid")

const listed: ReadonlySet<string> = new Set(["1000", "1001"])
const readRow = Schema.decodeUnknownOption(PullRow)

/** Of a TransactionStatus. */
const standingOf = vocabulary({
  pending: ["Authorized", "Initiated", "Pending"],
  successful: ["Completed"],
  failed: ["Cancelled", "Declined", "Expired"]
})

/**
 * The answer to a question about a payout. Only a status is a failure: the report that came to the address of its result gives the reason, where
 * it is final and names this payout, and without such a status it proves nothing.
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

/** The state of a charge by one receipt. */
export interface ConfirmedPayment {
  readonly found: FactWithAlarm<StatusOutcome>
  /** Whether it was read, and does not pay the charge. */
  readonly isOther: boolean
}

/**
 * The one payment of a charge, among those that were confirmed and by the list. Of two, whose the other one is is a person's to say; one of which
 * nothing is known yet may be the second.
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
 * The same of a payment to the paybill, which was asked for by its receipt. The answer does not name the charge, and so all of it has to be as that was asked,
 * and not older.
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
    // Another payment of the charge may still come.
    standing: standing === "failed" ? "pending" : standing,
    providerReference: order.providerReference,
    receipt,
    note: `status ${status} of a payment that names it`
  })
  return { found, isOther: !isOurs || standing === "failed" }
}

const SECOND_MS = 1_000

/** Undefined where the answer is about a transaction. No document says by which code none is found: what is no failed question is that, and proves nothing. */
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

/** `Fee For B2C Payment|KES|11.00`. One that is not so is none, and the held fee stands. */
const feeIn = (charges: string | undefined): string | null =>
  /^[^|]*\|KES\|(\d+(?:\.\d{1,2})?)$/.exec(charges?.trim() ?? "")?.[1] ?? null

export const unanswered: FactWithAlarm<Unknown> = withoutAlarm({
  _tag: "Unknown",
  reason: "timeout",
  note: "the answer to a question has not come yet"
})
