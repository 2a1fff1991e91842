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
 * The meaning of a code. `accepted`: it is under way. `ambiguous`: nobody knows, and the status tells later. `duplicate`: our id is used.
 * `signature`, `pin`: nothing moved, and the key or the PIN is to be looked at.
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

// The tables of Airtel's portals in Zambia, Chad and Uganda, which agree: of collections (DP008), of disbursements (DP009), of the machine before both,
// and the older codes that still stand beside the newer. A code that is not here has no meaning, and refuses nothing.
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
  // The same for no PIN, a wrong identifier and an unknown number.
  DP00800001005: refusalOf("other", "unknown", "The payer did not approve it, or has no such account."),
  DP00800001007: refusalOf("party", "insufficient_funds", "The payer has not enough money."),
  DP00800001029: refusalOf("party", "timed_out", "The payer did not answer in time."),
  DP00900001005: undelivered,
  DP00900001007: poolShort("Airtel fails a disbursement: our wallet is too small")
}

/** Several codes stand in one answer. Those by which nothing is decided come first, then a refusal or a success. */
const careful: ReadonlyArray<Meaning> = ["duplicate", "ambiguous", "signature", "pin", "absent", "accepted"]

/** Undefined where none of the codes has a meaning. */
export const meaningOf = (status: typeof Status.Type): Meaning | undefined => {
  const found = codesIn(status).flatMap((code) => rowOf(meanings, code) ?? [])
  return careful.find((word) => found.includes(word)) ?? found[0]
}

const CODE = /^(DP|ESB|ROUTER)?\d{3,14}$/

/** By `response_code` first. The messages beside them are for people, and hold numbers and balances. */
export const codesIn = ({ code, response_code, result_code }: typeof Status.Type): ReadonlyArray<string> =>
  [response_code, result_code, code].flatMap((one) => (typeof one === "string" && CODE.test(one) ? [one] : []))

/** Airtel's own answer, whatever the status it comes under; undefined where a machine on the way, or an overloaded one, may have made it. */
export const movementOf = (response: ProviderResponse): typeof MovementAnswer.Type | undefined =>
  response._tag === "Answered" && !provesNothing(response.status) ? movementIn(response) : undefined

const provesNothing = (status: number): boolean => status >= 500 || status === 408 || status === 429

/** Whether an answer means that. */
export const says = (meaning: Meaning, response: ProviderResponse): boolean =>
  meaningOf(movementOf(response)?.status ?? {}) === meaning

const tokenRefusalIn = errorIn(TokenRefusal)

/** A token that ended: nothing was executed. */
export const isTokenRefused = (response: ProviderResponse): boolean =>
  response._tag === "Answered" &&
  (response.status === 401 || (response.status === 403 && tokenRefusalIn(response)?.error === "invalid_token"))

/** After that with a new token, too. A page under 401 or 403 is no word of Airtel's. */
export const isAccountRefused = (response: ProviderResponse): boolean =>
  response._tag === "Answered" && [400, 401, 403].includes(response.status) && tokenRefusalIn(response) !== undefined

export const notAdmitted = accountRefused("Airtel refuses the gateway's credentials")
