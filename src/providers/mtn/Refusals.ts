import type { Schema } from "effect"
import { codedAnswers, decoded, errorIn, type FactWithAlarm } from "../AnswerParsing.ts"
import type { Identity } from "../Connection.ts"
import {
  type ProviderRefusal,
  poolShort,
  type Refused,
  refusalOf,
  refusedBy,
  refusedUnsaid,
  rowOf,
  undelivered,
  unknownRecipient
} from "../Refusals.ts"
import type { ProviderResponse } from "../Transport.ts"
import { ErrorAnswer, type Product } from "./Wire.ts"

/** The body of a 200, when it has the expected shape. */
export const decodedOk = <A>(schema: Schema.ConstraintDecoder<A>, response: ProviderResponse) =>
  decoded(schema, response, (status) => status === 200)

const CODE = /^[A-Z][A-Z_]{1,60}$/

/** An error from MTN itself, not from a proxy. */
const errorOf = errorIn(ErrorAnswer)

export const codeOf = (response: ProviderResponse): string | null => {
  const error = errorOf(response)
  return error !== undefined && "code" in error && CODE.test(error.code) ? error.code : null
}

const answers = codedAnswers("MTN", codeOf)
export const { noteOf } = answers

export const identity: Identity = {
  name: "mtn",
  title: "MTN",
  accountPerCountry: true,
  readAsUnknown: answers.readAsUnknown
}

/** MTN refuses our account, its keys, its IP address or its permissions. */
const notAdmitted = (note: string): ProviderRefusal =>
  refusalOf("config", "provider_rejected", "The provider does not accept the gateway's request.", `MTN refuses a call: ${note}`)

/** The headers or the body are invalid: our mistake, or an invalid number. */
const malformed = (note: string): ProviderRefusal =>
  refusalOf("other", "provider_rejected", "The provider refused it.", `MTN refuses a call: ${note}`)

/** The refusal in a response to a money call, when it proves that nothing was executed; undefined for any other response. */
export const refusal = (response: ProviderResponse): FactWithAlarm<Refused> | undefined => {
  if (response._tag !== "Answered" || errorOf(response) === undefined) return undefined
  const { status } = response
  const note = noteOf(response)
  if (status === 400) return refusedBy(malformed(note), null, note)
  const isRefused = refusingStatuses.has(status) || (status === 500 && refusingCodes.has(codeOf(response) ?? ""))
  return isRefused ? refusedBy(notAdmitted(note), null, note) : undefined
}

const refusingStatuses: ReadonlySet<number> = new Set([401, 403, 404])

/** Codes that mean a refusal although they come with HTTP 500. */
const refusingCodes: ReadonlySet<string> = new Set([
  "NOT_ALLOWED",
  "NOT_ALLOWED_TARGET_ENVIRONMENT",
  "INVALID_CALLBACK_URL_HOST",
  "INVALID_CURRENCY"
])

/**
 * Whether MTN refuses a free call for the whole market, for this number, or for one of the two. Undefined for any other
 * response: a 401 concerns our credentials, and a failure proves nothing.
 */
export const unsaidBy = (response: ProviderResponse): "market" | "number" | "either" | undefined => {
  if (response._tag !== "Answered" || response.status === 401) return undefined
  const { status } = response
  const code = codeOf(response)
  if (refusingCodes.has(code ?? "")) return "market"
  if (!unsayingStatuses.has(status)) return undefined
  // A 404 without MTN's code comes from the API gateway, which lacks the route. With a code, the number was not found.
  if (errorOf(response) === undefined) return "number"
  // Without a code about our product, a 403 does not say what is forbidden.
  if (status === 403) return "either"
  return status === 405 || (status === 404 && code === null) ? "market" : "number"
}

const unsayingStatuses: ReadonlySet<number> = new Set([400, 403, 404, 405])

const account = (what: string): ProviderRefusal =>
  refusalOf("config", "provider_rejected", "The provider does not allow it.", `MTN fails a movement: ${what}`)
const unsaid = refusalOf("other", "unknown", "The provider could not do it, and does not say why.")
const declined = refusalOf("party", "declined_by_payer", "The payer declined.")
const late = refusalOf("party", "timed_out", "The payer did not answer in time.")
const unavailable = refusalOf("other", "destination_unavailable", "The recipient's network did not take it.")

// Common to both products.
const shared = {
  NOT_ALLOWED: account("NOT_ALLOWED"),
  NOT_ALLOWED_TARGET_ENVIRONMENT: account("NOT_ALLOWED_TARGET_ENVIRONMENT"),
  INVALID_CALLBACK_URL_HOST: account("INVALID_CALLBACK_URL_HOST"),
  INVALID_CURRENCY: account("INVALID_CURRENCY"),
  VALIDATION_ERROR: refusedUnsaid,
  // In the state of an existing movement, these do not say what was not found or existed already.
  RESOURCE_NOT_FOUND: unsaid,
  RESOURCE_ALREADY_EXIST: unsaid,
  TRANSACTION_NOT_FOUND: unsaid,
  // Usually an empty wallet, but the response does not say so.
  INTERNAL_PROCESSING_ERROR: unsaid
}

// Why a movement failed. The payer of a collection is the customer; the payer of a transfer is our own account.
const reasons: Readonly<Record<Product, Readonly<Record<string, ProviderRefusal>>>> = {
  collection: {
    ...shared,
    PAYER_NOT_FOUND: refusalOf("party", "payer_not_found", "The provider does not know the payer."),
    NOT_ENOUGH_FUNDS: refusalOf("party", "insufficient_funds", "The payer has not enough money."),
    PAYER_LIMIT_REACHED: refusalOf("limit", "limit_exceeded", "The payer has reached a limit."),
    LOW_BALANCE_OR_PAYEE_LIMIT_REACHED_OR_NOT_ALLOWED: refusalOf(
      "party",
      "unknown",
      "The payer has not enough money, has reached a limit, or may not pay."
    ),
    SENDER_ACCOUNT_NOT_ACTIVE: refusalOf("party", "payer_not_found", "The payer's account is not active."),
    PAYEE_LIMIT_REACHED: account("a limit of our own account is reached"),
    PAYER_REJECTION: declined,
    PAYMENT_NOT_APPROVED: declined,
    APPROVAL_REJECTED: declined,
    REJECTED: declined,
    TRANSACTION_CANCELED: refusalOf("other", "provider_rejected", "The transaction was cancelled."),
    EXPIRED: late,
    // The payer has five minutes to approve.
    COULD_NOT_PERFORM_TRANSACTION: late,
    PAYEE_NOT_FOUND: account("our own account is not found"),
    PAYEE_NOT_ALLOWED_TO_RECEIVE: account("our own account may not receive"),
    SERVICE_UNAVAILABLE: unsaid
  },
  disbursement: {
    ...shared,
    PAYEE_NOT_FOUND: unknownRecipient,
    NOT_FOUND: unknownRecipient,
    PAYEE_NOT_ALLOWED_TO_RECEIVE: refusalOf("party", "destination_unavailable", "The recipient's account may not receive."),
    PAYEE_LIMIT_REACHED: refusalOf("limit", "limit_exceeded", "The recipient has reached a limit."),
    LOW_BALANCE_OR_PAYEE_LIMIT_REACHED_OR_NOT_ALLOWED: undelivered,
    SENDER_ACCOUNT_NOT_ACTIVE: account("our own account is not active"),
    NOT_ENOUGH_FUNDS: poolShort("MTN fails a transfer: the disbursement account is empty"),
    // The payer of a transfer is our own account, so neither the tenant nor the recipient is at fault.
    PAYER_LIMIT_REACHED: poolShort("MTN fails a transfer: a limit of our own account is reached"),
    PAYER_NOT_FOUND: account("our own account is not found"),
    PAYER_REJECTION: undelivered,
    PAYMENT_NOT_APPROVED: undelivered,
    APPROVAL_REJECTED: undelivered,
    REJECTED: undelivered,
    TRANSACTION_CANCELED: undelivered,
    EXPIRED: undelivered,
    COULD_NOT_PERFORM_TRANSACTION: undelivered,
    SERVICE_UNAVAILABLE: unavailable
  }
}

/** Normalizes a reason, because some markets write it in another case or with blanks. */
export const wordOf = (reason: string): string =>
  reason
    .trim()
    .toUpperCase()
    .replace(/[\s-]+/g, "_")

/** A reason that is not in the table does not change the failure, and raises no alarm. */
export const failureBy = (product: Product, reason: string): ProviderRefusal => rowOf(reasons[product], wordOf(reason)) ?? unsaid
