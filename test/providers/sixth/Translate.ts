import { Option, Result, Schema } from "effect"
import { isCurrency } from "../../../src/domain/Currency.ts"
import { isReference, type Reference } from "../../../src/domain/Ids.ts"
import { instantOf } from "../../../src/domain/Instant.ts"
import { fromDecimal, ZERO } from "../../../src/domain/Money.ts"
import type { StatementLine } from "../../../src/domain/Reconciliation.ts"
import {
  asCreateOutcome,
  decoded,
  notAdmittedBy,
  type ProviderRefusal,
  type Reading,
  type Refused,
  refusalOf,
  refusedBy as refused,
  unknownOutcome,
  unreadable,
  withoutAlarm
} from "../../../src/providers/Reading.ts"
import { exactJson, type ProviderResponse } from "../../../src/providers/Transport.ts"
import type { PayoutOutcome, StatusOutcome } from "../../../src/services/ports/Provider.ts"
import { ErrorAnswer, Movement } from "./Wire.ts"

export type Kind = "payout" | "collection"

// These statuses prove that nothing was executed, where the error is in Tumbuka Pay's own shape; nothing else does.
const refusing: ReadonlySet<number> = new Set([400, 401, 403, 422])

const other = refusalOf("other", "provider_rejected", "The provider refused it.")
const notAdmitted = notAdmittedBy("our key is refused")
const shared: ReadonlyArray<readonly [code: string, refusal: ProviderRefusal]> = [
  [
    "misrouted",
    refusalOf("config", "provider_rejected", "The provider does not serve it.", "a corridor leads here that is not served")
  ],
  ["invalid_request", { ...other, alarm: "a body of ours is refused" }],
  ["unauthorized", notAdmitted],
  ["forbidden", notAdmitted]
]
// By the code of an error or of a failure; a code that is not here still refuses, and is logged.
const refusals: Readonly<Record<Kind, ReadonlyMap<string, ProviderRefusal>>> = {
  payout: new Map([
    ...shared,
    ["declined", other],
    ["not_delivered", refusalOf("other", "provider_rejected", "The provider could not deliver it.")],
    ["wallet_empty", refusalOf("pool", "provider_rejected", "The provider cannot pay it out now.", "our wallet is too small")],
    ["unknown_number", refusalOf("party", "invalid_destination", "The provider does not know the recipient's number.")]
  ]),
  collection: new Map([
    ...shared,
    ["declined", refusalOf("other", "declined_by_payer", "The payer declined.")],
    ["unknown_number", refusalOf("party", "payer_not_found", "The provider does not know the payer's number.")]
  ])
}

export const refusedBy = (kind: Kind, code: string, providerReference: string | null): Reading<Refused> =>
  refused(
    refusals[kind].get(code) ?? { ...other, alarm: `a code without a meaning here: ${named(code)}` },
    providerReference,
    named(code)
  )

/** A word of theirs, where it is one: it could be a sentence with a name in it. */
const named = (text: string): string => (/^[a-z_]{1,40}$/.test(text) ? text : "not a word")

/** The answer to POST. `Known`: our reference was there already, so that a lookup decides. */
export const posted = (kind: Kind, response: ProviderResponse, reference: Reference): Reading<PayoutOutcome> | "Known" => {
  if (response._tag === "NotSent") return withoutAlarm({ _tag: "NotSent", note: response.note })
  const code = errorOf(response)
  if (code !== null && response._tag === "Answered") {
    if (response.status === 409 && code === "duplicate_client_ref") return "Known"
    if (refusing.has(response.status)) return refusedBy(kind, code, null)
  }
  return taken(found(kind, response, reference))
}

/** What stands there, as the answer to the call that made it, now or before. */
export const taken = (looked: Reading<StatusOutcome>): Reading<PayoutOutcome> =>
  asCreateOutcome(looked, "what was only just made is not there, or came back")

/** The answer to GET by our reference. */
export const found = (kind: Kind, response: ProviderResponse, reference: Reference): Reading<StatusOutcome> => {
  if (response._tag === "Answered" && response.status === 404 && errorOf(response) === "not_found")
    return withoutAlarm({ _tag: "NotFound", note: "not_found" })
  const movement = Option.getOrUndefined(decoded(Movement, response))
  if (movement === undefined) return noAnswer(response)
  return movement.client_ref === reference
    ? standing(kind, movement)
    : unreadable("the answer is about another transaction", movement.status)
}

const noAnswer = (response: ProviderResponse) =>
  unknownOutcome(response, ({ status }, reason) => {
    const note = `HTTP ${status}`
    return { note, alarm: reason === "bad_response" ? `${note}, and nothing that can be used` : null }
  })

const standing = (kind: Kind, movement: Movement): Reading<StatusOutcome> => {
  const { failure, id: providerReference, status } = movement
  const note = `status ${named(status)}`
  if (status === "pending") return withoutAlarm({ _tag: "StillPending", providerReference, note })
  if (status === "failed") return refusedBy(kind, failure ?? "unsaid", providerReference)
  const sum = sumOf(movement)
  const at = Option.getOrUndefined(instantOf(movement.updated_at))
  if (sum === undefined || at === undefined) return unreadable("an amount, a currency or a time cannot be read", status)
  if (status === "succeeded") return withoutAlarm({ _tag: "Succeeded", providerReference, ...sum, note })
  const { amount, currency, fee: charged } = sum
  if (status === "returned") return withoutAlarm({ _tag: "Returned", amount, currency, fee: ZERO, charged, at, note })
  return unreadable("a status without a meaning here", status)
}

const sumOf = ({ amount, currency, fee }: Movement) => {
  if (!isCurrency(currency)) return undefined
  const sums = Result.all({ amount: fromDecimal(amount, currency), fee: fromDecimal(fee, currency) })
  return Result.isFailure(sums) ? undefined : { ...sums.success, currency }
}

const lineStatuses: ReadonlyMap<string, StatementLine["status"]> = new Map([
  ["pending", "pending"],
  ["succeeded", "successful"],
  ["failed", "failed"],
  ["returned", "returned"]
])

/** Undefined where the line cannot be read. */
export const lineOf = (direction: Kind, movement: Movement): StatementLine | undefined => {
  const status = lineStatuses.get(movement.status)
  const sum = sumOf(movement)
  const at = Option.getOrUndefined(instantOf(movement.created_at))
  if (status === undefined || sum === undefined || at === undefined) return undefined
  const { client_ref: ours, id: providerReference } = movement
  return { direction, providerReference, reference: isReference(ours) ? ours : null, ...sum, status, at }
}

/** The code of an error in Tumbuka Pay's own shape; a page in between has none. */
const errorOf = (response: ProviderResponse): string | null =>
  response._tag !== "Answered"
    ? null
    : Option.match(Option.flatMap(exactJson(response), decodeError), { onNone: () => null, onSome: ({ error }) => error.code })

const decodeError = Schema.decodeUnknownOption(ErrorAnswer)
