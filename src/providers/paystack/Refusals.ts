import { errorIn, type FactWithAlarm, type Unknown, unknownReader, withoutAlarm } from "../AnswerParsing.ts"
import type { Identity } from "../Connection.ts"
import { usedAt } from "../Movements.ts"
import {
  misroutedTo,
  notAdmittedBy,
  notPaid,
  type ProviderRefusal,
  poolShort,
  type Refused,
  refusalOf,
  refusedBy,
  refusedUnsaid,
  unknownRecipient
} from "../Refusals.ts"
import type { ProviderResponse } from "../Transport.ts"
import { ErrorAnswer } from "./Wire.ts"

const NOT_ADMITTED = "Paystack refuses the gateway's key or its address"

export const identity: Identity = { name: "paystack", title: "Paystack", readAsUnknown: unknownReader("Paystack", NOT_ADMITTED) }

/** A refusal in Paystack's own form; a page of something before it is none. */
export const errorOf = errorIn(ErrorAnswer)

/** The corridor names whom this provider does not reach. */
export const unreachable = misroutedTo(
  identity.title,
  "The provider does not serve this network or country.",
  "Paystack has no code for it: nothing was sent"
)

/** Our key or our address: nothing was executed. */
const notAdmitted = notAdmittedBy(NOT_ADMITTED)

/** The statuses with which POST /transferrecipient, POST /transfer and POST /charge refuse; 401 and 403 are our own account's fault. */
const refusing = [400, 404, 422]

const refusalBy = (response: ProviderResponse, why: ProviderRefusal): FactWithAlarm<Refused> | undefined => {
  if (response._tag !== "Answered" || errorOf(response) === undefined) return undefined
  const { status } = response
  if (status === 401 || status === 403) return refusedBy(notAdmitted, null, `HTTP ${status}`)
  return refusing.includes(status) ? refusedBy(why, null, `HTTP ${status}`) : undefined
}

export const chargeRefusal = (response: ProviderResponse) => refusalBy(response, refusedUnsaid)

export const transferRefusal = (response: ProviderResponse) => refusalBy(response, transferReason(response))

/** Of a recipient who is not there no transfer was sent. */
export const recipientRefusal = (response: ProviderResponse): FactWithAlarm<Refused> | undefined =>
  response._tag === "Answered" && refusing.includes(response.status) && errorOf(response) !== undefined
    ? refusedBy(unknownRecipient, null, `the recipient is refused with HTTP ${response.status}`)
    : undefined

/** A short balance has no code: its text, in either spelling, is the documented and only sign of it, and it decides no more than whom the refusal is about. */
const SHORT_BALANCE = /^Your balance is not enough to fulfill? this request\.?$/

const transferReason = (response: ProviderResponse): ProviderRefusal => {
  const error = errorOf(response)
  if (error?.code === "invalid_transfer_recipient") return unknownRecipient
  return SHORT_BALANCE.test(error?.message ?? "")
    ? poolShort("Paystack refuses a transfer: the balance there is not enough")
    : refusedUnsaid
}

/** Paystack itself says that it has nothing by our reference: 404, or 400 with the code for that. */
export const notFound = (response: ProviderResponse) => {
  const error = errorOf(response)
  if (response._tag !== "Answered" || error === undefined) return undefined
  const isAbsent = response.status === 404 || (response.status === 400 && error.code === "transaction_not_found")
  return isAbsent ? withoutAlarm({ _tag: "NotFound", note: "nothing by our reference" } as const) : undefined
}

/** Where a text says that an earlier arrival of the same request took the reference. */
export const usedReference = (response: ProviderResponse): FactWithAlarm<Unknown> | undefined =>
  /\b(duplicate|already exists|unique reference)\b/i.test(errorOf(response)?.message ?? "") ? usedAt(identity.title) : undefined

const unfinished = refusalOf("other", "timed_out", "The payer did not finish in time.")
const unasked = refusalOf(
  "other",
  "provider_rejected",
  "The provider asks the payer for something that the gateway cannot pass on."
)

const chargeFailures: ReadonlyMap<string, ProviderRefusal> = new Map([
  ["send_pin", unasked],
  ["send_phone", unasked],
  ["send_birthday", unasked],
  ["send_address", unasked],
  ["timeout", unfinished]
])

/** Why a charge failed. Declined, no balance, no answer: only a text tells them apart. */
export const chargeFailure = (status: string): ProviderRefusal => chargeFailures.get(status) ?? notPaid

/** A charge that waits for a voucher and got none. */
export const withoutVoucher = (note: string): FactWithAlarm<Refused> =>
  refusedBy(
    refusalOf(
      "other",
      "provider_rejected",
      "This network needs a voucher: the payer makes one on the phone, and it goes with a new collection as its otp."
    ),
    null,
    note
  )
