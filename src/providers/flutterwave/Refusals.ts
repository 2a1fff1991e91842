import { errorIn, type FactWithAlarm, type Unknown, unknownReader, withoutAlarm } from "../AnswerParsing.ts"
import type { Identity } from "../Connection.ts"
import { usedAt } from "../Movements.ts"
import {
  accountRefused,
  type ProviderRefusal,
  poolShort,
  type Refused,
  refusedByStatus,
  refusedUnsaid,
  undelivered,
  unknownRecipient
} from "../Refusals.ts"
import type { ProviderResponse } from "../Transport.ts"
import { ChargeRequest, ErrorAnswer, type Transfer } from "./Wire.ts"

const NOT_ADMITTED = "Flutterwave refuses the gateway's account or its address"

export const identity: Identity = {
  name: "flutterwave",
  title: "Flutterwave",
  readAsUnknown: unknownReader("Flutterwave", NOT_ADMITTED)
}

const errorOf = errorIn(ErrorAnswer)

/** The HTTP status of a refusal in Flutterwave's own words; what a machine in between may have written is none. */
export const refusalStatus = (response: ProviderResponse): number | undefined =>
  response._tag === "Answered" && errorOf(response) !== undefined ? response.status : undefined

/** Our secret key, or the address that the calls come from. */
const notAdmitted = accountRefused(NOT_ADMITTED)

// By HTTP status, which is all there is: v3 has no codes. A status that is not here is no refusal that can be believed.
const refusals: ReadonlyMap<number, ProviderRefusal> = new Map([
  [400, refusedUnsaid],
  [401, notAdmitted],
  [403, notAdmitted]
])

/** A definite refusal by its HTTP status. */
export const refusal = (response: ProviderResponse): FactWithAlarm<Refused> | undefined =>
  refusedByStatus(refusals, response, errorOf(response) !== undefined)

// The texts that refuse a charge before it is made: a missing member, or a number that is none. All else may hide a charge that went
// through: the payers of "read ECONNRESET" were charged.
const refusesRequest = (message: string): boolean =>
  refusing.has(message) || (message.endsWith(IS_REQUIRED) && required.has(message.slice(0, -IS_REQUIRED.length)))
const refusing: ReadonlySet<string> = new Set(["Sorry, that account number is invalid, please check and try again"])
const IS_REQUIRED = " is required"
/** The members of a charge. */
const required: ReadonlySet<string> = new Set(Object.keys(ChargeRequest.fields))

/** Where a refusal of a charge proves nothing: only asking tells, now and again later. */
export const unprovenRefusal = (response: ProviderResponse): FactWithAlarm<Unknown> | undefined =>
  refusesRequest(errorOf(response)?.message ?? "")
    ? undefined
    : withoutAlarm({
        _tag: "Unknown",
        reason: "bad_response",
        note: "refused in words that do not prove that nothing was charged"
      })

/** Where a text says that our reference is used. */
export const usedReference = (response: ProviderResponse): FactWithAlarm<Unknown> | undefined =>
  /\b(duplicate|already exists?)\b/i.test(errorOf(response)?.message ?? "") ? usedAt(identity.title) : undefined

const ownWallet = poolShort("Flutterwave failed a transfer for our own wallet's sake: is it empty, or restricted?")
const dailyLimit = poolShort("Flutterwave failed a transfer: our account has paid as much as it may in a day")
// Failed is failed, whatever the text. Why, v3 says by its text alone: these are matched whole, and what is not here is `undelivered`.
const completeMessages: ReadonlyMap<string, ProviderRefusal> = new Map([
  ["Insufficient funds in customer wallet", ownWallet],
  ["DISBURSE FAILED: Insufficient funds in customer wallet", ownWallet],
  ["DISBURSE FAILED: wallet currently restricted. please contact administrator", ownWallet],
  ["You have exceeded your daily limit for this product", dailyLimit],
  ["DISBURSE FAILED: You have exceeded your daily limit for this product", dailyLimit],
  ["DISBURSE FAILED: Unable to obtain user details", unknownRecipient]
])

/** Why a transfer failed. */
export const failureOf = ({ complete_message }: typeof Transfer.Type): ProviderRefusal =>
  completeMessages.get(complete_message ?? "") ?? undelivered
