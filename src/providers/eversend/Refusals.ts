import { Option } from "effect"
import { errorIn, type FactWithAlarm, type Unknown, unknownReader } from "../AnswerParsing.ts"
import type { Identity } from "../Connection.ts"
import {
  notAdmittedBy,
  notPaid,
  type ProviderRefusal,
  poolShort,
  type Refused,
  refusalOf,
  refusedByStatus,
  refusedUnsaid,
  undelivered,
  unknownRecipient
} from "../Refusals.ts"
import { exactJson, type ProviderResponse } from "../Transport.ts"
import { ErrorAnswer } from "./Wire.ts"

const NOT_ADMITTED = "Eversend refuses the gateway's account, its address or its origin"

export const identity: Identity = { name: "eversend", title: "Eversend", readAsUnknown: unknownReader("Eversend", NOT_ADMITTED) }

export type Kind = "payout" | "collection" | "exchange"

/** Our account, our address or our origin: 401 after a new token, and 403. */
const notAdmitted = notAdmittedBy(NOT_ADMITTED)

const shared = [
  [400, refusedUnsaid],
  [401, notAdmitted],
  [403, notAdmitted]
] as const

// By HTTP status, which is all there is: Eversend has no codes, and its texts change. A status that is not here is no refusal that
// can be believed.
const refusals: Readonly<Record<Kind, ReadonlyMap<number, ProviderRefusal>>> = {
  payout: new Map([
    ...shared,
    [402, poolShort("Eversend refuses a payout: is the wallet there empty?")],
    [404, unknownRecipient]
  ]),
  collection: new Map([
    ...shared,
    [402, refusedUnsaid],
    [404, refusalOf("party", "payer_not_found", "The provider does not know the payer.")]
  ]),
  exchange: new Map([
    ...shared,
    [
      402,
      {
        ...poolShort("Eversend refuses an exchange: is the wallet there empty?"),
        message: "The provider cannot exchange it now."
      }
    ],
    [404, refusedUnsaid]
  ])
}

/** A refusal by its HTTP status: whether it proves anything, `unproven` tells. A page is somebody else's, such as a firewall's: Eversend refuses in JSON. */
export const refusal = (kind: Kind, response: ProviderResponse): FactWithAlarm<Refused> | undefined =>
  refusedByStatus(refusals[kind], response, response._tag === "Answered" && Option.isSome(exactJson(response)))

const errorOf = errorIn(ErrorAnswer)

const textOf = (response: ProviderResponse): string => {
  const { error, message } = errorOf(response) ?? {}
  return (typeof message === "object" ? message.message : (message ?? error)) ?? ""
}

// What refuses a request before anything is made of it, word for word. Integrators report the first; the others are what the README assumes, until
// Eversend says them. A text that is not here proves nothing: the search shows a movement late, or not at all.
const refusing: ReadonlySet<string> = new Set([
  "phone number must be a valid international format",
  "Quotation token is invalid or has expired",
  "Insufficient wallet balance",
  "Account not found",
  "Bank not found",
  "amount is above the maximum",
  "Invalid OTP"
])

/** Where a refusal proves nothing, whatever a lookup finds. */
export const unproven = (
  response: ProviderResponse,
  refused: FactWithAlarm<Refused> | undefined
): FactWithAlarm<Unknown> | undefined =>
  refusing.has(textOf(response))
    ? undefined
    : {
        fact: {
          _tag: "Unknown",
          reason: "bad_response",
          note: `${refused?.fact.note ?? "refused"}, in words that do not prove that nothing was made`
        },
        alarm: refused?.alarm ?? null
      }

/**
 * What a failed transaction is reported as. Its status alone decides that it failed; the reason beside it, where it is word for word one of
 * these, only chooses the code that the tenant reads.
 */
export const failureBy = (kind: Kind, reason: string | null | undefined): ProviderRefusal =>
  (kind === "collection" ? reasons.get(reason?.toLowerCase() ?? "") : undefined) ?? failures[kind]

const reasons: ReadonlyMap<string, ProviderRefusal> = new Map([
  ["payment was declined by the payer", refusalOf("party", "declined_by_payer", "The payer declined the payment.")],
  ["charge was rejected", refusedUnsaid]
])

const failures: Readonly<Record<Kind, ProviderRefusal>> = {
  payout: undelivered,
  // Declined, no balance, no answer: most of Eversend's texts do not tell them apart.
  collection: notPaid,
  exchange: refusalOf("other", "provider_rejected", "The provider did not exchange it.")
}
