import type { RefusalKind } from "../../domain/Fact.ts"
import type { FailureCode } from "../../domain/Transaction.ts"
import type { Reading, Refused } from "../Reading.ts"

export type Kind = "payout" | "collection"

interface Refusal {
  readonly kind: RefusalKind
  readonly code: FailureCode
  readonly message: string
  readonly isAlarming?: true
}

const account: Refusal = {
  kind: "config",
  code: "provider_rejected",
  message: "The provider does not accept the gateway's account.",
  isAlarming: true
}
const asked: Refusal = {
  kind: "config",
  code: "provider_rejected",
  message: "The provider does not accept how it was asked.",
  isAlarming: true
}
const limit: Refusal = { kind: "limit", code: "limit_exceeded", message: "It is outside what the mobile money account may move." }
const busy: Refusal = {
  kind: "party",
  code: "provider_rejected",
  message: "Another payment with this mobile money account is still open."
}
const unnamed: Refusal = { kind: "other", code: "unknown", message: "It failed; the provider does not say why." }
const nobody: Readonly<Record<Kind, Refusal>> = {
  payout: { kind: "party", code: "invalid_destination", message: "The recipient has no such mobile money account." },
  collection: { kind: "party", code: "payer_not_found", message: "The payer has no such mobile money account." }
}

// By pawaPay's failure codes, of refused requests and of failed payments alike.
const refusals: Readonly<Record<string, Refusal | Readonly<Record<Kind, Refusal>>>> = {
  NO_AUTHENTICATION: account,
  AUTHENTICATION_ERROR: account,
  AUTHORISATION_ERROR: account,
  HTTP_SIGNATURE_ERROR: account,
  DEPOSITS_NOT_ALLOWED: account,
  PAYOUTS_NOT_ALLOWED: account,
  INVALID_INPUT: asked,
  MISSING_PARAMETER: asked,
  UNSUPPORTED_PARAMETER: asked,
  INVALID_PARAMETER: asked,
  DUPLICATE_METADATA_FIELD: asked,
  INVALID_CURRENCY: asked,
  INVALID_PROVIDER: asked,
  AMOUNT_OUT_OF_BOUNDS: { kind: "limit", code: "limit_exceeded", message: "The amount is outside what the network takes." },
  INVALID_AMOUNT: { kind: "other", code: "provider_rejected", message: "The network does not take this amount." },
  INVALID_PHONE_NUMBER: nobody,
  PROVIDER_TEMPORARILY_UNAVAILABLE: {
    kind: "other",
    code: "destination_unavailable",
    message: "The mobile money network cannot be reached now."
  },
  PAWAPAY_WALLET_OUT_OF_FUNDS: {
    kind: "pool",
    code: "provider_rejected",
    message: "The provider cannot pay it out now.",
    isAlarming: true
  },
  PAYMENT_NOT_APPROVED: { kind: "party", code: "declined_by_payer", message: "The payer did not approve it." },
  INSUFFICIENT_BALANCE: { kind: "party", code: "insufficient_funds", message: "The payer's balance is too small." },
  PAYMENT_IN_PROGRESS: busy,
  TRANSACTION_ALREADY_IN_PROCESS: busy,
  PAYER_NOT_FOUND: nobody,
  RECIPIENT_NOT_FOUND: nobody,
  PAYER_LIMIT_REACHED: limit,
  RECIPIENT_LIMIT_REACHED: limit,
  WALLET_LIMIT_REACHED: limit,
  MANUALLY_CANCELLED: { kind: "other", code: "provider_rejected", message: "It was cancelled at the provider." },
  UNSPECIFIED_FAILURE: unnamed,
  UNKNOWN_ERROR: unnamed
}

/** A failure is one whatever its code: an unknown code only hides why. */
export const refusedBy = (kind: Kind, failureCode: string, said: string, providerReference: string | null): Reading<Refused> => {
  const known = Object.hasOwn(refusals, failureCode) ? refusals[failureCode] : undefined
  const found = known === undefined || "message" in known ? known : known[kind]
  const { code, isAlarming, kind: refusalKind, message } = found ?? unnamed
  const shown = found === undefined ? JSON.stringify(failureCode.slice(0, LONGEST_CODE)) : failureCode
  return {
    fact: { _tag: "Refused", providerReference, kind: refusalKind, failure: { code, message }, note: `${said} ${shown}` },
    alarm: found === undefined || isAlarming === true ? `pawaPay says ${said} with ${shown}` : null
  }
}
const LONGEST_CODE = 40

/** Not asked at all: the gateway's own corridor or amount does not fit the network. */
export const unaskable = (kind: RefusalKind, message: string, note: string): Reading<Refused> => ({
  fact: { _tag: "Refused", providerReference: null, kind, failure: { code: "provider_rejected", message }, note },
  alarm: kind === "config" ? `a corridor leads to pawaPay that cannot: ${note}` : null
})
