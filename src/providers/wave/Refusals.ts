import { errorIn, type FactWithAlarm, isAnswered, unknownReader } from "../AnswerParsing.ts"
import type { Identity } from "../Connection.ts"
import {
  accountRefused,
  notPaid,
  type ProviderRefusal,
  poolShort,
  type Refused,
  refusalOf,
  refusedBy,
  refusedUnsaid,
  undelivered
} from "../Refusals.ts"
import type { ProviderResponse } from "../Transport.ts"
import { ErrorAnswer } from "./Wire.ts"

const NOT_ADMITTED = "Wave refuses the gateway's key, its wallet or its address"

export const identity: Identity = {
  name: "wave",
  title: "Wave",
  accountPerCountry: true,
  readAsUnknown: unknownReader("Wave", NOT_ADMITTED)
}

const errorOf = errorIn(ErrorAnswer)

/** The code of an error in Wave's own form; null for a proxy's page. */
export const codeOf = (response: ProviderResponse): string | null => {
  const { code, error, error_code } = errorOf(response) ?? {}
  return code ?? error_code ?? (typeof error === "object" ? error.code : error) ?? null
}

const malformed = (code: string): ProviderRefusal => ({ ...refusedUnsaid, alarm: `Wave refuses a request of ours: ${code}` })
const misconfigured = (code: string): ProviderRefusal => accountRefused(`Wave refuses a request: ${code}`)

const notReceiving = refusalOf("party", "destination_unavailable", "The recipient's account may not receive.")
const notPaying = refusalOf("party", "declined_by_payer", "The payer's account may not pay this.")

// By the code of an error, a failed payout, or a session's last payment; the documentation does not separate them.
const table = {
  payout: new Map([
    ["insufficient-funds", poolShort("Wave refuses a payout: our wallet there has not enough money")],
    ["recipient-limit-exceeded", refusalOf("limit", "limit_exceeded", "The recipient has reached a limit.")],
    ["recipient-account-blocked", notReceiving],
    ["recipient-minor", notReceiving],
    ["recipient-account-inactive", refusalOf("party", "invalid_destination", "The recipient's account is not active.")],
    ["country-mismatch", refusalOf("party", "invalid_destination", "The number has no account in this country.")],
    ...["currency-mismatch", "invalid-aggregated-merchant-id", "aggregated-merchant-required"].map(ofOurs)
  ]),
  session: new Map([
    ["insufficient-funds", refusalOf("party", "insufficient_funds", "The payer has not enough money.")],
    ["blocked-account", notPaying],
    ["cross-border-payment-not-allowed", notPaying],
    ["customer-age-restricted", notPaying],
    ["payer-mobile-mismatch", refusalOf("party", "declined_by_payer", "Another number than the payer's tried to pay.")],
    ["payment-failure", notPaid],
    ...["kyb-limits-exceeded", "unauthorized-wallet"].map(ofOurs)
  ])
} satisfies Readonly<Record<string, ReadonlyMap<string, ProviderRefusal>>>
type MoneyCall = keyof typeof table

function ofOurs(code: string) {
  return [code, misconfigured(code)] as const
}

/** Why an accepted call failed. */
export const failureBy = (call: MoneyCall, code: string | null): ProviderRefusal =>
  table[call].get(code ?? "") ?? { payout: undelivered, session: notPaid }[call]

/** A session that ended without an attempt to pay. */
export const unfinished = refusalOf("other", "timed_out", "The payer did not finish in time.")

/** Nothing is sent. */
export const withoutPage = refusedBy(
  refusalOf("other", "provider_rejected", "The provider sends payers to its page: give a redirect_url that begins with https."),
  null,
  "no address over https to come back to"
)

/** A code is shown in the history only when it has the form of one; it could be a sentence with a name in it. */
export const named = (code: string): string => (/^[a-z][a-z-]{1,60}$/.test(code) ? code : "a code in words")

/** A conflict means that something exists: its state decides, never this response. */
export const isConflict = (response: ProviderResponse): boolean =>
  isAnswered(response, 409) || codeOf(response) === "idempotency-mismatch"

/** By Wave's rules every refusal in its own form is final, except these statuses and 5xx. */
const undecided: ReadonlySet<number> = new Set([408, 429])

/** The refusal in a response to a call that moves money; undefined for any other response. */
export const refusal = (call: MoneyCall, response: ProviderResponse): FactWithAlarm<Refused> | undefined => {
  const code = codeOf(response)
  if (response._tag !== "Answered" || code === null) return undefined
  const { status } = response
  if (status < 400 || status > 499 || undecided.has(status)) return undefined
  const known = status === 401 || status === 403 ? accountRefused(NOT_ADMITTED) : table[call].get(code)
  return refusedBy(known ?? malformed(named(code)), null, `HTTP ${status}, ${named(code)}`)
}
