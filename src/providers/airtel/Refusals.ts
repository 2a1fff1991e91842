import { codedAnswers, errorIn } from "../AnswerParsing.ts"
import type { Identity } from "../Connection.ts"
import {
  accountRefused,
  type ProviderRefusal,
  poolShort,
  refusalOf,
  refusedUnsaid,
  rowOf,
  undelivered,
  unknownRecipient
} from "../Refusals.ts"
import type { ProviderResponse } from "../Transport.ts"
import { MovementAnswer, type Status, TokenRefusal } from "./Wire.ts"

const movementIn = errorIn(MovementAnswer)

const { readAsUnknown } = codedAnswers("Airtel", (response) => codesIn(movementIn(response)?.status ?? {}).join(" ") || null)

export const identity: Identity = { name: "airtel", title: "Airtel Money", accountPerCountry: true, readAsUnknown }

/**
 * The meaning of a code. `accepted`: in progress. `ambiguous`: unknown until a poll. `duplicate`: our id is used already.
 * `signature`, `pin`: nothing moved, and the key or the PIN must be checked.
 */
export type Meaning = ProviderRefusal | "accepted" | "successful" | "ambiguous" | "duplicate" | "absent" | "signature" | "pin"
type Meanings = Readonly<Record<string, Meaning>>

const as = (meaning: (code: string) => Meaning, ...codes: ReadonlyArray<string>): Meanings =>
  Object.fromEntries(codes.map((code) => [code, meaning(code)]))
const is = (meaning: Meaning, ...codes: ReadonlyArray<string>): Meanings => as(() => meaning, ...codes)

const account = (code: string): ProviderRefusal =>
  refusalOf("config", "provider_rejected", "The provider does not accept how it was asked.", `Airtel refuses a call: ${code}`)
const limit = refusalOf("limit", "limit_exceeded", "It is outside what the mobile money account may move.")
const noNumber = refusalOf("other", "provider_rejected", "The provider does not take this number.")
export const unsaid = refusalOf("other", "unknown", "It failed; the provider does not say why.")

// From the tables in Airtel's portals for Zambia, Chad and Uganda, which agree: collections (DP008), disbursements (DP009), the
// router in front of both, and older codes that are still used beside the new ones. A code that is not listed has no meaning
// and refuses nothing.
const meanings: Meanings = {
  ...is("accepted", "DP00800001006", "DP00900001006"),
  ...is("successful", "DP00800001001", "DP00900001001"),
  ...is("ambiguous", "DP00800001000", "DP00800001024", "DP00900001000", "DP00900001014", "ROUTER117", "0000900"),
  ...is("ambiguous", "ESB000001", "ESB000004", "ESB000008", "ESB000014"),
  ...is("duplicate", "DP00900001011", "DP00900001017", "521050", "ESB000041"),
  ...is("absent", "DP00800001025", "DP00900001015", "ESB000045"),
  ...is("signature", "DP00800001026", "DP00900001016", "DP00900001018"),
  ...is("pin", "ROUTER114", "ROUTER115", "ROUTER116"),
  ...as(account, "ROUTER001", "ROUTER003", "ROUTER005", "ROUTER006", "ROUTER007", "ROUTER110", "ROUTER112", "ROUTER119"),
  ...as(account, "ESB000034", "ESB000035", "ESB000039", "DP00800001010", "DP00900001010", "DP00900001019"),
  ...is(limit, "DP00800001003", "DP00800001004", "DP00900001003", "DP00900001004"),
  ...is(noNumber, "521002", "ESB000033", "ESB000036"),
  ...is(unknownRecipient, "DP00900001009", "DP00900001012"),
  ...is(refusedUnsaid, "DP00800001008", "DP00800001009", "DP00900001013"),
  DP00800001002: refusalOf("party", "declined_by_payer", "The payer's PIN was wrong."),
  // One code for a missing PIN, a wrong identifier and an unknown number.
  DP00800001005: refusalOf("other", "unknown", "The payer did not approve it, or has no such account."),
  DP00800001007: refusalOf("party", "insufficient_funds", "The payer has not enough money."),
  DP00800001029: refusalOf("party", "timed_out", "The payer did not answer in time."),
  DP00900001005: undelivered,
  DP00900001007: poolShort("Airtel fails a disbursement: our wallet is too small")
}

/** A response may contain several codes. Those that decide nothing take precedence over a refusal or a success. */
const careful: ReadonlyArray<Meaning> = ["duplicate", "ambiguous", "signature", "pin", "absent", "accepted"]

/** Undefined when none of the codes has a meaning. */
export const meaningOf = (status: typeof Status.Type): Meaning | undefined => {
  const found = codesIn(status).flatMap((code) => rowOf(meanings, code) ?? [])
  return careful.find((word) => found.includes(word)) ?? found[0]
}

const CODE = /^(DP|ESB|ROUTER)?\d{3,14}$/

/** `response_code` first. The messages beside the codes contain numbers and balances, and are not read. */
export const codesIn = ({ code, response_code, result_code }: typeof Status.Type): ReadonlyArray<string> =>
  [response_code, result_code, code].flatMap((one) => (typeof one === "string" && CODE.test(one) ? [one] : []))

/** Airtel's own response, whatever its HTTP status; undefined when a proxy or an overloaded server may have made it. */
export const movementOf = (response: ProviderResponse): typeof MovementAnswer.Type | undefined =>
  response._tag === "Answered" && !provesNothing(response.status) ? movementIn(response) : undefined

const provesNothing = (status: number): boolean => status >= 500 || status === 408 || status === 429

/** Whether a response has this meaning. */
export const says = (meaning: Meaning, response: ProviderResponse): boolean =>
  meaningOf(movementOf(response)?.status ?? {}) === meaning

const tokenRefusalIn = errorIn(TokenRefusal)

/** The token has expired: nothing was executed. */
export const isTokenRefused = (response: ProviderResponse): boolean =>
  response._tag === "Answered" &&
  (response.status === 401 || (response.status === 403 && tokenRefusalIn(response)?.error === "invalid_token"))

/** Also after a new token. An HTML page under 401 or 403 does not come from Airtel's API. */
export const isAccountRefused = (response: ProviderResponse): boolean =>
  response._tag === "Answered" && [400, 401, 403].includes(response.status) && tokenRefusalIn(response) !== undefined

export const notAdmitted = accountRefused("Airtel refuses the gateway's credentials")
