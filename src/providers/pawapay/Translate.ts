import { Option, Result } from "effect"
import { isCurrency } from "../../domain/Currency.ts"
import type { Reference } from "../../domain/Ids.ts"
import { fromDecimal, type MinorUnits } from "../../domain/Money.ts"
import type { PayoutOutcome, StatusOutcome } from "../../services/ports/Provider.ts"
import { decoded, isSuccess, type Reading, unreadable, withoutAlarm } from "../Reading.ts"
import type { ProviderResponse } from "../Transport.ts"
import { noAnswer } from "./Reading.ts"
import { type Kind, refusedBy } from "./Refusals.ts"
import { InitiationAnswer, type Payment, paymentId, StatusAnswer } from "./Wire.ts"

/** The payment was there before: only its status says what became of it. */
export type Duplicate = { readonly _tag: "Duplicate" }

/** A refusal can come with any of these; elsewhere even the word REJECTED proves nothing. */
const canRefuse = (status: number): boolean => isSuccess(status) || status === 400 || status === 401 || status === 403

/** The answer to POST /payouts and POST /deposits. */
export const initiated = (kind: Kind, response: ProviderResponse, reference: Reference): Reading<PayoutOutcome | Duplicate> => {
  if (response._tag === "NotSent") return withoutAlarm({ _tag: "NotSent", note: response.note })
  const answer = Option.getOrUndefined(decoded(InitiationAnswer, response, canRefuse))
  if (response._tag === "Lost" || answer === undefined) return noAnswer(response)
  const { failureReason, status = "" } = answer
  const id = idOf(kind, answer)
  const own = paymentId(reference)
  if (id !== null && id !== own) return unreadable("the answer is about another payment", status)
  if (status === "REJECTED" && failureReason) return refusedBy(kind, failureReason.failureCode, status, null)
  if (!isSuccess(response.status)) return noAnswer(response)
  if (id === null) return unreadable("the answer names no payment", status)
  switch (status) {
    case "ACCEPTED":
      return withoutAlarm(accepted(own, status))
    case "DUPLICATE_IGNORED":
      return withoutAlarm({ _tag: "Duplicate" })
    default:
      return unreadable("the status has no meaning here", status)
  }
}

const accepted = (id: string, note: string) =>
  ({ _tag: "Accepted", providerReference: id, observedAmount: null, observedCurrency: null, note }) as const

/** What a payment that was there before comes to; where its status cannot be had it is at least under way. */
export const afterDuplicate = (looked: Reading<StatusOutcome>, reference: Reference): Reading<PayoutOutcome> => {
  const { alarm, fact } = looked
  return fact._tag === "Succeeded" || fact._tag === "Refused"
    ? { fact, alarm }
    : { fact: accepted(paymentId(reference), "DUPLICATE_IGNORED"), alarm }
}

/** By the contract, where the payment does not say it. */
export type FeeOf = (amount: MinorUnits) => MinorUnits | null

/** The answer to GET /payouts/{id} and GET /deposits/{id}. */
export const found = (kind: Kind, response: ProviderResponse, reference: Reference, feeOf: FeeOf): Reading<StatusOutcome> => {
  const answer = Option.getOrUndefined(decoded(StatusAnswer, response))
  if (answer === undefined) return noAnswer(response)
  const { data, status } = answer
  if (status === "NOT_FOUND") return withoutAlarm({ _tag: "NotFound", note: status })
  if (status !== "FOUND" || data === undefined || data === null) return unreadable("the answer holds no payment", status)
  const isOurs = idOf(kind, data) === paymentId(reference) && (data.clientReferenceId ?? reference) === reference
  return isOurs ? standing(kind, data, reference, feeOf) : unreadable("the answer is about another payment", data.status)
}

const standing = (kind: Kind, payment: Payment, reference: Reference, feeOf: FeeOf): Reading<StatusOutcome> => {
  const { failureReason, status } = payment
  const providerReference = paymentId(reference)
  switch (status) {
    case "ACCEPTED":
    case "ENQUEUED":
    case "PROCESSING":
    case "IN_RECONCILIATION":
      return withoutAlarm({ _tag: "StillPending", providerReference, note: status })
    case "FAILED":
      return refusedBy(kind, failureReason?.failureCode ?? UNSAID, status, providerReference)
    case "COMPLETED": {
      const { amount: text, currency } = payment
      const amount = isCurrency(currency) && text !== undefined ? fromDecimal(text, currency) : Result.fail("absent")
      if (!isCurrency(currency) || Result.isFailure(amount))
        return unreadable("the amount or the currency cannot be read", status)
      const fee = feeOf(amount.success)
      return withoutAlarm({ _tag: "Succeeded", providerReference, amount: amount.success, currency, fee, note: status })
    }
    default:
      return unreadable("the status has no meaning here", status)
  }
}

const UNSAID = "UNSPECIFIED_FAILURE"

/** Final too, but pawaPay advises to look a second time. */
export const isUnsure = ({ fact }: Reading<StatusOutcome>): boolean =>
  fact._tag === "Refused" && fact.note === "FAILED UNKNOWN_ERROR"

const idOf = (kind: Kind, { depositId, payoutId }: Pick<Payment, "depositId" | "payoutId">): string | null =>
  (kind === "payout" ? payoutId : depositId) ?? null
