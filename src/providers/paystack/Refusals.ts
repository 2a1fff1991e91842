import type { PayoutOutcome } from "../../services/ports/Provider.ts"
import { errorIn, type FactWithAlarm, type Unknown, unknownReader, withoutAlarm } from "../AnswerParsing.ts"
import type { Identity } from "../Connection.ts"
import { type MoneyCallAnswer, notProven, onceNotFound, usedAt } from "../Movements.ts"
import {
  accountRefused,
  misroutedTo,
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

/** A refusal in Paystack's own form; a proxy's page is not one. */
export const errorOf = errorIn(ErrorAnswer)

/** The corridor names a destination that this provider does not reach. */
export const unreachable = misroutedTo(
  identity.title,
  "The provider does not serve this network or country.",
  "Paystack has no code for it: nothing was sent"
)

/** Paystack refuses our key or our IP address: nothing was executed. */
const notAdmitted = accountRefused(NOT_ADMITTED)

/** The statuses with which POST /transferrecipient, POST /transfer and POST /charge refuse; 401 and 403 concern our own account. */
const refusing = [400, 404, 422]

export type Operation = "charge" | "voucher" | "transfer"

/**
 * The error type of a request that was refused because of its content. Paystack's other types are faults of its own or its
 * partners', after which anything may have been executed.
 */
const OF_THE_REQUEST = "validation_error"

const shortBalance = poolShort("Paystack refuses a transfer: the balance there is not enough")
// The documented refusals by operation: codes, and texts without type and code. Any other without a type proves nothing.
const documented: Readonly<Record<Operation, ReadonlyMap<string, ProviderRefusal>>> = {
  charge: new Map(),
  voucher: new Map([["Provided registration token is invalid", refusedUnsaid]]),
  transfer: new Map([
    ["invalid_transfer_recipient", unknownRecipient],
    ["Your balance is not enough to fulfil this request", shortBalance],
    ["Your balance is not enough to fulfill this request", shortBalance],
    ["Recipient specified is invalid", unknownRecipient],
    ["Invalid amount passed", refusedUnsaid]
  ])
}

interface PaystackRefusal extends FactWithAlarm<Refused> {
  /** Whether Paystack's documentation says that nothing was executed. */
  readonly isProven: boolean
}

const refusal = (operation: Operation, response: ProviderResponse): PaystackRefusal | undefined => {
  const error = errorOf(response)
  if (response._tag !== "Answered" || error === undefined) return undefined
  const { status } = response
  const note = `HTTP ${status}`
  if (status === 401 || status === 403) return { ...refusedBy(notAdmitted, null, note), isProven: true }
  if (!refusing.includes(status)) return undefined
  const { code, message, type } = error
  const said = documented[operation].get(code ?? "") ?? documented[operation].get((message ?? "").trim().replace(/\.$/, ""))
  return {
    ...refusedBy(said ?? refusedUnsaid, null, note),
    isProven: type === OF_THE_REQUEST || (!type && said !== undefined)
  }
}

/** The refusal of a call that moves money. It counts once a lookup finds nothing; one that proves nothing does not. */
export const moneyCallRefusal = (
  operation: "charge" | "transfer",
  response: ProviderResponse
): MoneyCallAnswer<PayoutOutcome> | undefined => {
  const refused = refusal(operation, response)
  return refused === undefined
    ? undefined
    : onceNotFound(refused, usedReference(response) ?? (refused.isProven ? undefined : notProven(refused)))
}

/** The refusal of a voucher. After one that proves nothing the charge may be in progress. */
export const voucherRefusal = (response: ProviderResponse): FactWithAlarm<Refused> | undefined => {
  const refused = refusal("voucher", response)
  return refused?.isProven === true || TRIED_OUT.test(errorOf(response)?.message ?? "") ? refused : undefined
}
/** It names the minutes until the next voucher is accepted. */
const TRIED_OUT = /^Too many attempts\. You have to wait for \d+ minutes?/

/** Without a recipient no transfer was sent. After a fault of Paystack's or its partner's, the recipient may exist. */
export const recipientRefusal = (response: ProviderResponse): FactWithAlarm<Refused> | undefined => {
  const error = errorOf(response)
  if (response._tag !== "Answered" || error === undefined || !refusing.includes(response.status)) return undefined
  return !error.type || error.type === OF_THE_REQUEST
    ? refusedBy(unknownRecipient, null, `the recipient is refused with HTTP ${response.status}`)
    : undefined
}

/** Paystack says that it has nothing with our reference: 404, or 400 with the code for that. */
export const notFound = (response: ProviderResponse) => {
  const error = errorOf(response)
  if (response._tag !== "Answered" || error === undefined) return undefined
  const isAbsent = response.status === 404 || (response.status === 400 && error.code === "transaction_not_found")
  return isAbsent ? withoutAlarm({ _tag: "NotFound", note: "nothing by our reference" } as const) : undefined
}

/** For a text that says that an earlier copy of the same request used the reference. */
const usedReference = (response: ProviderResponse): FactWithAlarm<Unknown> | undefined =>
  USED_REFERENCE.test(errorOf(response)?.message ?? "") ? usedAt(identity.title) : undefined
const USED_REFERENCE = /\b(duplicate|already exists|unique reference)\b|^Transaction reference is invalid/i

const unfinished = refusalOf("other", "timed_out", "The payer did not finish in time.")

/** Why a charge failed. Only a text distinguishes declined, no balance and no response. */
export const chargeFailure = (status: string): ProviderRefusal => (status === "timeout" ? unfinished : notPaid)

/** A charge that requires a voucher and got none. */
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
