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

/** The HTTP status of a refusal in Flutterwave's own form; undefined for a response that a proxy may have written. */
export const refusalStatus = (response: ProviderResponse): number | undefined =>
  response._tag === "Answered" && errorOf(response) !== undefined ? response.status : undefined

/** Flutterwave refuses our secret key or our IP address. */
const notAdmitted = accountRefused(NOT_ADMITTED)

// By HTTP status, because v3 has no codes. A status that is not listed proves no refusal.
const refusals: ReadonlyMap<number, ProviderRefusal> = new Map([
  [400, refusedUnsaid],
  [401, notAdmitted],
  [403, notAdmitted]
])

/** A definite refusal by its HTTP status. */
export const refusal = (response: ProviderResponse): FactWithAlarm<Refused> | undefined =>
  refusedByStatus(refusals, response, errorOf(response) !== undefined)

// The texts that refuse a charge before it is made: a missing member, or an invalid number. Any other refusal may hide a charge
// that went through: payers with the text "read ECONNRESET" were charged.
const refusesRequest = (message: string): boolean =>
  refusing.has(message) || (message.endsWith(IS_REQUIRED) && required.has(message.slice(0, -IS_REQUIRED.length)))
const refusing: ReadonlySet<string> = new Set(["Sorry, that account number is invalid, please check and try again"])
const IS_REQUIRED = " is required"
/** The members of a charge. */
const required: ReadonlySet<string> = new Set(Object.keys(ChargeRequest.fields))

/** For a refusal of a charge that proves nothing: only a lookup can decide, now and again later. */
export const unprovenRefusal = (response: ProviderResponse): FactWithAlarm<Unknown> | undefined =>
  refusesRequest(errorOf(response)?.message ?? "")
    ? undefined
    : withoutAlarm({
        _tag: "Unknown",
        reason: "bad_response",
        note: "refused in words that do not prove that nothing was charged"
      })

/** For a text that says that our reference is already used. */
export const usedReference = (response: ProviderResponse): FactWithAlarm<Unknown> | undefined =>
  /\b(duplicate|already exists?)\b/i.test(errorOf(response)?.message ?? "") ? usedAt(identity.title) : undefined

const ownWallet = poolShort("Flutterwave failed a transfer for our own wallet's sake: is it empty, or restricted?")
const dailyLimit = poolShort("Flutterwave failed a transfer: our account has paid as much as it may in a day")
// A failed transfer is final. v3 gives the reason only as text: these are compared as a whole, any other is `undelivered`.
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
