import { errorIn, type FactWithAlarm, unknownOutcome } from "../../../src/providers/AnswerParsing.ts"
import type { Identity } from "../../../src/providers/Connection.ts"
import {
  accountRefused,
  type ProviderRefusal,
  poolShort,
  type Refused,
  refusalOf,
  refusedBy,
  refusedUnsaid,
  undelivered,
  unknownRecipient
} from "../../../src/providers/Refusals.ts"
import type { ProviderResponse } from "../../../src/providers/Transport.ts"
import { ErrorAnswer } from "./Wire.ts"

export const identity: Identity = {
  name: "sixth",
  title: "Tumbuka Pay",
  readAsUnknown: (response) =>
    unknownOutcome(response, ({ status }, reason) => {
      const note = `HTTP ${status}`
      return { note, alarm: reason === "bad_response" ? `${note}, and nothing that can be used` : null }
    })
}

export type PaymentKind = "payout" | "collection"

const notAdmitted = accountRefused("our key is refused")
const shared: ReadonlyArray<readonly [code: string, refusal: ProviderRefusal]> = [
  ["declined", refusedUnsaid],
  ["invalid_request", { ...refusedUnsaid, alarm: "a body of ours is refused" }],
  ["unauthorized", notAdmitted],
  ["forbidden", notAdmitted]
]
// By the code of an error or of a failure; a code that is not here still refuses, and is logged.
const refusals: Readonly<Record<PaymentKind, ReadonlyMap<string, ProviderRefusal>>> = {
  payout: new Map([
    ...shared,
    ["not_delivered", undelivered],
    ["wallet_empty", poolShort("our wallet is too small")],
    ["unknown_number", unknownRecipient]
  ]),
  collection: new Map([
    ...shared,
    ["declined", refusalOf("other", "declined_by_payer", "The payer declined.")],
    ["unknown_number", refusalOf("party", "payer_not_found", "The provider does not know the payer's number.")]
  ])
}

export const refusalBy = (kind: PaymentKind, code: string): ProviderRefusal =>
  refusals[kind].get(code) ?? { ...refusedUnsaid, alarm: `a code without a meaning here: ${named(code)}` }

/** A word of theirs, where it is one: it could be a sentence with a name in it. */
export const named = (text: string): string => (/^[a-z_]{1,40}$/.test(text) ? text : "not a word")

const errorOf = errorIn(ErrorAnswer)

/** The code of an error in Tumbuka Pay's own shape; a page in between has none. */
export const codeOf = (response: ProviderResponse): string | null => errorOf(response)?.error.code ?? null

// These statuses prove that nothing was executed, where the error is in Tumbuka Pay's own shape; nothing else does.
const refusing: ReadonlySet<number> = new Set([400, 401, 403, 422])

export const refusal = (kind: PaymentKind, response: ProviderResponse): FactWithAlarm<Refused> | undefined => {
  const code = codeOf(response)
  const isRefused = response._tag === "Answered" && refusing.has(response.status)
  return isRefused && code !== null ? refusedBy(refusalBy(kind, code), null, named(code)) : undefined
}
