import { Option } from "effect"
import type { Reference } from "../../domain/Ids.ts"
import type { MinorUnits } from "../../domain/Money.ts"
import type { PaymentKind } from "../../domain/Payment.ts"
import type { PayoutOutcome, StatusOutcome, StatusQuery } from "../../services/ports/Provider.ts"
import { decoded, type FactWithAlarm, isSuccess, unreadable, withoutAlarm } from "../AnswerParsing.ts"
import { acceptedAs, type MoneyCallAnswer, notSent } from "../Movements.ts"
import { answerBy, isOtherParty, sumOf, vocabulary } from "../ProviderStatus.ts"
import { refusedBy } from "../Refusals.ts"
import type { ProviderResponse } from "../Transport.ts"
import { identity, noteOf, refusalBy } from "./Refusals.ts"
import { InitiationAnswer, type Payment, paymentId, StatusAnswer } from "./Wire.ts"

const { readAsUnknown } = identity

/** A refusal comes with one of these statuses; with any other, even the word REJECTED proves nothing. */
const canRefuse = (status: number): boolean => isSuccess(status) || status === 400 || status === 401 || status === 403

/** The response to POST /payouts and POST /deposits. */
export const initiated = (
  kind: PaymentKind,
  response: ProviderResponse,
  reference: Reference
): MoneyCallAnswer<PayoutOutcome> => {
  if (response._tag === "NotSent") return notSent(response.note)
  const answer = Option.getOrUndefined(decoded(InitiationAnswer, response, canRefuse))
  if (response._tag === "Lost" || answer === undefined) return readAsUnknown(response)
  const { failureReason, status = "" } = answer
  const id = idOf(kind, answer)
  const own = paymentId(reference)
  if (id !== null && id !== own) return unreadable("the answer is about another transaction", status)
  if (status === "REJECTED" && failureReason) {
    const { failureCode } = failureReason
    return refusedBy(refusalBy(kind, failureCode, status), null, noteOf(failureCode, status))
  }
  if (!isSuccess(response.status)) return readAsUnknown(response)
  if (id === null) return unreadable("the answer names no payment", status)
  if (status === "DUPLICATE_IGNORED") return { confirm: (looked) => afterDuplicate(looked, own) }
  // While an operator is down, a payout is ENQUEUED at once.
  return standingOf(status) === "pending"
    ? withoutAlarm(acceptedAs({ providerReference: own, note: status }))
    : unreadable("the status has no meaning here", status)
}

/** The outcome of a payment that existed before. When its status cannot be parsed, it is at least in progress. */
const afterDuplicate = (
  { alarm, fact }: FactWithAlarm<StatusOutcome>,
  providerReference: string
): FactWithAlarm<PayoutOutcome> =>
  fact._tag === "Succeeded" || fact._tag === "Mismatched" || (fact._tag === "Refused" && fact.isUnsure !== true)
    ? { fact, alarm }
    : { fact: acceptedAs({ providerReference, note: "DUPLICATE_IGNORED" }), alarm }

/** The contract fee, for payments that do not name theirs. */
export type FeeOf = (amount: MinorUnits) => MinorUnits | null

/** The response to GET /payouts/{id} and GET /deposits/{id}. */
export const found = (
  kind: PaymentKind,
  response: ProviderResponse,
  expected: Expected,
  feeOf: FeeOf
): FactWithAlarm<StatusOutcome> => {
  const answer = Option.getOrUndefined(decoded(StatusAnswer, response))
  if (answer === undefined) return readAsUnknown(response)
  const { data, status } = answer
  if (status === "NOT_FOUND") return withoutAlarm({ _tag: "NotFound", note: status })
  if (status !== "FOUND" || data === undefined || data === null) return unreadable("the answer holds no payment", status)
  return answerOf(kind, data, expected, feeOf)
}
type Expected = Pick<StatusQuery, "reference" | "party">

export const standingOf = vocabulary({
  // SUBMITTED is the older word for ACCEPTED; pawaPay's page of test numbers still has it.
  pending: ["ACCEPTED", "ENQUEUED", "PROCESSING", "SUBMITTED", "IN_RECONCILIATION"],
  successful: ["COMPLETED"],
  failed: ["FAILED"]
})

const answerOf = (
  kind: PaymentKind,
  payment: Payment,
  { party, reference }: Expected,
  feeOf: FeeOf
): FactWithAlarm<StatusOutcome> => {
  const { failureReason, status } = payment
  const providerReference = paymentId(reference)
  const standing = standingOf(status)
  const failureCode = failureReason?.failureCode ?? UNSAID
  const sum = sumOf(payment)
  return answerBy({
    kind,
    isOurs: idOf(kind, payment) === providerReference && (payment.clientReferenceId ?? reference) === reference,
    isOfAnother: isOtherParty(party, (payment.recipient ?? payment.payer)?.accountDetails?.phoneNumber),
    status,
    standing,
    isUnsure: failureCode === UNSURE,
    providerReference,
    receipt: payment.providerTransactionId,
    note: standing === "failed" ? noteOf(failureCode, status) : status,
    sum: sum === undefined ? undefined : { ...sum, fee: feeOf(sum.amount) },
    refusal: refusalBy(kind, failureCode, status)
  })
}

const UNSAID = "UNSPECIFIED_FAILURE"
/** Final too, but pawaPay recommends to poll once more. */
const UNSURE = "UNKNOWN_ERROR"

const idOf = (kind: PaymentKind, { depositId, payoutId }: Pick<Payment, "depositId" | "payoutId">): string | null =>
  (kind === "payout" ? payoutId : depositId) ?? null
