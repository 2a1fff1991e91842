import { codedAnswers, errorIn, type FactWithAlarm } from "../AnswerParsing.ts"
import type { Identity } from "../Connection.ts"
import {
  accountRefused,
  type ProviderRefusal,
  poolShort,
  type Refused,
  refusalOf,
  refusedBy,
  refusedUnsaid,
  rowOf,
  unknownRecipient
} from "../Refusals.ts"
import type { ProviderResponse } from "../Transport.ts"
import { Acknowledged, ErrorAnswer } from "./Wire.ts"

const errorOf = errorIn(ErrorAnswer)

export const errorCodeOf = (response: ProviderResponse): string | null => {
  const code = errorOf(response)?.errorCode.trim() ?? ""
  return /^[\d.]{3,20}$/.test(code) ? code : null
}

const { noteOf, readAsUnknown } = codedAnswers("Safaricom", errorCodeOf)

export const identity: Identity = { name: "daraja", title: "Safaricom", readAsUnknown }

/** The 404 among them does not mean "not found": the token has expired. */
const tokenCodes: ReadonlySet<string> = new Set(["400.003.01", "401.002.01", "404.001.03"])

/** A call that was acknowledged was executed, whatever its status. */
export const endsToken = (response: ProviderResponse): boolean =>
  acknowledgementIn(response) === undefined &&
  ((response._tag === "Answered" && response.status === 401) || tokenCodes.has(errorCodeOf(response) ?? ""))
const acknowledgementIn = errorIn(Acknowledged)

const malformed = (code: string): ProviderRefusal => ({ ...refusedUnsaid, alarm: `Safaricom does not take a call: ${code}` })
const account = (code: string): ProviderRefusal =>
  accountRefused(`Safaricom refuses the account, or an address of its own: ${code}`)

// Returned by Safaricom's API gateway before its system has seen the call.
const refusedCalls: ReadonlyMap<string, (code: string) => ProviderRefusal> = new Map([
  ["400.002.02", malformed],
  ["400.002.05", malformed],
  ["400.003.02", malformed],
  ...["400.003.01", "401.002.01", "404.001.03", "400.008.01", "400.008.02"].map((code) => [code, account] as const),
  ...["404.001.01", "404.001.04", "404.003.01", "405.001", "403.002.1001"].map((code) => [code, account] as const)
])

/** For prompts only: the prompt was not sent. The reason is in the text of the code, which is not read. */
const refusedPrompts: ReadonlyMap<string, (code: string) => ProviderRefusal> = new Map([
  ["500.001.1001", () => refusalOf("other", "provider_rejected", "The provider did not send the prompt.")],
  // Rejected at the API gateway. This counts as a refusal, because a prompt without acknowledgement cannot be polled.
  ...["500.003.02", "500.003.03"].map(
    (code) => [code, () => refusalOf("other", "provider_rejected", "The provider is busy.")] as const
  )
])

export const PROMPT_GOES_ON = "500.001.1001"
export const DUPLICATE = "500.002.1001"

/** The refusal in a response to a call that moves money, when it proves that nothing was executed; else undefined. */
export const refusal = (response: ProviderResponse, kind: "charge" | "payout"): FactWithAlarm<Refused> | undefined => {
  const code = errorCodeOf(response)
  if (response._tag !== "Answered" || code === null) return undefined
  const by = refusedCalls.get(code) ?? (kind === "charge" ? refusedPrompts.get(code) : undefined)
  return by === undefined ? undefined : refusedBy(by(code), null, noteOf(response))
}

/** Why a transaction failed. */
interface Failure extends ProviderRefusal {
  /** It is polled once more, a minute later. */
  readonly isUnsure?: true
}

const ours = (code: string): ProviderRefusal =>
  refusalOf("config", "provider_rejected", "The provider does not allow it.", `Safaricom fails a transaction: ${code}`)
const limit = (message: string): ProviderRefusal => refusalOf("limit", "limit_exceeded", message)
const declined = refusalOf("party", "declined_by_payer", "The payer declined.")
const late = refusalOf("party", "timed_out", "The payer did not answer in time.")
const undone = refusalOf("other", "unknown", "The prompt could not be shown, or another one is open.")

const shared = {
  "2": limit("The amount is below the network's minimum."),
  "3": limit("The amount is above the network's maximum."),
  "4": limit("It would exceed the customer's daily limit."),
  "2028": ours("2028, the product is not assigned to the shortcode")
}

// By the result code alone; its text is for people. A code that is not listed is not understood, and never a failure.
export const failures: Readonly<Record<"collection" | "payout", Readonly<Record<string, Failure>>>> = {
  collection: {
    ...shared,
    "1": refusalOf("party", "insufficient_funds", "The payer has not enough money."),
    "8": ours("8, our own account would exceed its maximum"),
    "17": limit("The same amount was asked of this payer less than two minutes ago."),
    "26": { ...undone, isUnsure: true },
    "1001": undone,
    "1019": late,
    "1025": undone,
    "1031": declined,
    "1032": declined,
    // The payer may have entered the PIN at the last second.
    "1037": { ...late, isUnsure: true },
    "2001": refusalOf("party", "declined_by_payer", "The payer's PIN was wrong."),
    "2006": refusalOf("party", "payer_not_found", "The payer's account may not pay."),
    "8006": refusalOf("party", "declined_by_payer", "The payer's PIN is blocked."),
    "9999": { ...undone, isUnsure: true },
    SFC_IC0003: ours("SFC_IC0003, the shortcode or the till is wrong")
  },
  payout: {
    ...shared,
    "1": poolShort("Safaricom fails a payout: the utility account is empty"),
    "8": limit("The recipient's account would exceed its maximum."),
    "11": ours("11, our own account is not active"),
    "21": ours("21, the initiator lacks a role"),
    "2001": ours("2001, the initiator or its password is wrong"),
    "2006": ours("2006, the state of our own account forbids it"),
    "2040": unknownRecipient,
    "8006": ours("8006, the initiator's password is blocked"),
    SFC_IC0003: unknownRecipient,
    // Returned by the API about the call itself.
    ...Object.fromEntries(["18", "19", "20", "22", "23", "24", "25", "29"].map((code) => [code, ours(code)]))
  }
}

export const failureBy = (kind: "collection" | "payout", code: string): Failure | undefined => rowOf(failures[kind], code)

/** With these codes the query failed and says nothing: a problem of initiator, rights, account or products, or a busy system. */
export const isUnasked = (code: string): boolean =>
  /^(1|11|1[5789]|2[0-6]|29|2001|2006|2028|8006|1000000\d\d|SFC_IC0003)$/.test(code)

/** A code is shown in the history only when it has the form of one. */
export const shownCode = (code: string): string => (/^[A-Z0-9_]{1,12}$/.test(code) ? code : "in words")
