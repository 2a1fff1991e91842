import type { PaymentKind } from "../../domain/Payment.ts"
import { type FactWithAlarm, shownWord, unknownOutcome } from "../AnswerParsing.ts"
import type { Identity } from "../Connection.ts"
import { type ProviderRefusal, type Refused, refusalOf, refusedBy, rowOf } from "../Refusals.ts"

export const identity: Identity = {
  name: "pawapay",
  title: "pawaPay",
  readAsUnknown: (response) =>
    unknownOutcome(response, ({ status }, reason) => ({
      note: `HTTP ${status}`,
      alarm: reason === "bad_response" ? `pawaPay answers HTTP ${status} and nothing that can be used` : null
    }))
}

const account = refusalOf("config", "provider_rejected", "The provider does not accept the gateway's account.")
const badRequest = refusalOf("config", "provider_rejected", "The provider does not accept how it was asked.")
const limit = refusalOf("limit", "limit_exceeded", "It is outside what the mobile money account may move.")
const busy = refusalOf("party", "provider_rejected", "Another payment with this mobile money account is still open.")
const unnamed = refusalOf("other", "unknown", "It failed; the provider does not say why.")
const nobody: Readonly<Record<PaymentKind, ProviderRefusal>> = {
  payout: refusalOf("party", "invalid_destination", "The recipient has no such mobile money account."),
  collection: refusalOf("party", "payer_not_found", "The payer has no such mobile money account.")
}

// By pawaPay's failure code, for refused requests and failed payments alike.
const refusals: Readonly<Record<string, ProviderRefusal | Readonly<Record<PaymentKind, ProviderRefusal>>>> = {
  NO_AUTHENTICATION: account,
  AUTHENTICATION_ERROR: account,
  AUTHORISATION_ERROR: account,
  HTTP_SIGNATURE_ERROR: account,
  DEPOSITS_NOT_ALLOWED: account,
  PAYOUTS_NOT_ALLOWED: account,
  INVALID_INPUT: badRequest,
  MISSING_PARAMETER: badRequest,
  UNSUPPORTED_PARAMETER: badRequest,
  INVALID_PARAMETER: badRequest,
  DUPLICATE_METADATA_FIELD: badRequest,
  INVALID_CURRENCY: badRequest,
  INVALID_PROVIDER: badRequest,
  AMOUNT_OUT_OF_BOUNDS: refusalOf("limit", "limit_exceeded", "The amount is outside what the network takes."),
  INVALID_AMOUNT: refusalOf("other", "provider_rejected", "The network does not take this amount."),
  INVALID_PHONE_NUMBER: nobody,
  PROVIDER_TEMPORARILY_UNAVAILABLE: refusalOf(
    "other",
    "destination_unavailable",
    "The mobile money network cannot be reached now."
  ),
  PAWAPAY_WALLET_OUT_OF_FUNDS: refusalOf("pool", "provider_rejected", "The provider cannot pay it out now."),
  PAYMENT_NOT_APPROVED: refusalOf("party", "declined_by_payer", "The payer did not approve it."),
  INSUFFICIENT_BALANCE: refusalOf("party", "insufficient_funds", "The payer's balance is too small."),
  PAYMENT_IN_PROGRESS: busy,
  TRANSACTION_ALREADY_IN_PROCESS: busy,
  PAYER_NOT_FOUND: nobody,
  RECIPIENT_NOT_FOUND: nobody,
  PAYER_LIMIT_REACHED: limit,
  RECIPIENT_LIMIT_REACHED: limit,
  WALLET_LIMIT_REACHED: limit,
  MANUALLY_CANCELLED: refusalOf("other", "provider_rejected", "It was cancelled at the provider."),
  UNSPECIFIED_FAILURE: unnamed,
  UNKNOWN_ERROR: unnamed
}

/** A failure is final whatever its code. Unknown codes, and failures of our account or wallet, raise an alarm. */
export const refusalBy = (kind: PaymentKind, failureCode: string, status: string): ProviderRefusal => {
  const row = rowOf(refusals, failureCode)
  const known = row === undefined || "message" in row ? row : row[kind]
  const isLoud = known === undefined || known.kind === "config" || known.kind === "pool"
  return { ...(known ?? unnamed), alarm: isLoud ? `pawaPay says ${noteOf(failureCode, status)}` : null }
}

export const noteOf = (failureCode: string, status: string): string =>
  `${status} ${Object.hasOwn(refusals, failureCode) ? failureCode : shownWord(failureCode)}`

/** The amount does not fit the network, so no call is made. */
export const unaskable = (message: string, note: string): FactWithAlarm<Refused> =>
  refusedBy(refusalOf("other", "provider_rejected", message), null, note)
