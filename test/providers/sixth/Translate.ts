import { Option, Result, Schema } from "effect"
import { isCurrency } from "../../../src/domain/Currency.ts"
import type { Fact, RefusalKind } from "../../../src/domain/Fact.ts"
import { isReference, type Reference } from "../../../src/domain/Ids.ts"
import { instantOf } from "../../../src/domain/Instant.ts"
import { fromDecimal, ZERO } from "../../../src/domain/Money.ts"
import type { StatementLine } from "../../../src/domain/Reconciliation.ts"
import type { FailureCode } from "../../../src/domain/Transaction.ts"
import { type Exchanged, exactJson } from "../../../src/providers/Transport.ts"
import type { Answer, PayoutOutcome } from "../../../src/services/ports/Provider.ts"
import { ErrorAnswer, Movement } from "./Wire.ts"

/** What an answer means. `alarm` is for the operator: Tumbuka Pay, or our account there, is not as this adapter expects. */
export interface Reading<F> {
  readonly fact: F
  readonly alarm: string | null
}

export type Kind = "payout" | "collection"
type Refused = Extract<Fact, { _tag: "Refused" }>
type Refusal = readonly [kind: RefusalKind, code: FailureCode, message: string, alarm?: string]

const told = <F>(fact: F): Reading<F> => ({ fact, alarm: null })

// These statuses prove that nothing was executed, where the error is in Tumbuka Pay's own shape; nothing else does.
const refusing: ReadonlySet<number> = new Set([400, 401, 403, 422])

const other = ["other", "provider_rejected", "The provider refused it."] as const
const notAdmitted: Refusal = [
  "config",
  "provider_rejected",
  "The provider does not accept the gateway's account.",
  "our key is refused"
]
const shared: ReadonlyArray<readonly [code: string, refusal: Refusal]> = [
  ["misrouted", ["config", "provider_rejected", "The provider does not serve it.", "a corridor leads here that is not served"]],
  ["invalid_request", [...other, "a body of ours is refused"]],
  ["unauthorized", notAdmitted],
  ["forbidden", notAdmitted]
]
// By the code of an error or of a failure; a code that is not here still refuses, and is logged.
const refusals: Readonly<Record<Kind, ReadonlyMap<string, Refusal>>> = {
  payout: new Map([
    ...shared,
    ["declined", other],
    ["not_delivered", ["other", "provider_rejected", "The provider could not deliver it."]],
    ["wallet_empty", ["pool", "provider_rejected", "The provider cannot pay it out now.", "our wallet is too small"]],
    ["unknown_number", ["party", "invalid_destination", "The provider does not know the recipient's number."]]
  ]),
  collection: new Map([
    ...shared,
    ["declined", ["other", "declined_by_payer", "The payer declined."]],
    ["unknown_number", ["party", "payer_not_found", "The provider does not know the payer's number."]]
  ])
}

export const refusedBy = (kind: Kind, code: string, providerReference: string | null): Reading<Refused> => {
  const known = refusals[kind].get(code)
  const [why, failure, message, alarm = null] = known ?? [...other, `a code without a meaning here: ${named(code)}`]
  const note = named(code)
  return { fact: { _tag: "Refused", providerReference, kind: why, failure: { code: failure, message }, note }, alarm }
}

/** A word of theirs, where it is one: it could be a sentence with a name in it. */
const named = (text: string): string => (/^[a-z_]{1,40}$/.test(text) ? text : "not a word")

/** The answer to POST. `Known`: our reference was there already, so that a lookup decides. */
export const posted = (kind: Kind, exchanged: Exchanged, reference: Reference): Reading<PayoutOutcome> | "Known" => {
  if (exchanged._tag === "NotSent") return told({ _tag: "NotSent", note: exchanged.note })
  const code = errorOf(exchanged)
  if (code !== null && exchanged._tag === "Answered") {
    if (exchanged.status === 409 && code === "duplicate_client_ref") return "Known"
    if (refusing.has(exchanged.status)) return refusedBy(kind, code, null)
  }
  return taken(found(kind, exchanged, reference))
}

/** What stands there, as the answer to the call that made it, now or before. */
export const taken = ({ alarm, fact }: Reading<Answer>): Reading<PayoutOutcome> => {
  switch (fact._tag) {
    case "StillPending":
      return { fact: { ...fact, _tag: "Accepted", observedAmount: null, observedCurrency: null }, alarm }
    case "NotFound":
    case "Returned":
      return unread(`${fact._tag} of what was only just made`)
    default:
      return { fact, alarm }
  }
}

/** The answer to GET by our reference. */
export const found = (kind: Kind, exchanged: Exchanged, reference: Reference): Reading<Answer> => {
  if (exchanged._tag !== "Answered")
    return told({ _tag: "Unknown", reason: exchanged._tag === "Lost" ? exchanged.reason : "unavailable", note: exchanged.note })
  const { status } = exchanged
  if (status === 404 && errorOf(exchanged) === "not_found") return told({ _tag: "NotFound", note: "not_found" })
  const movement = Option.getOrUndefined(status < 300 ? Option.flatMap(exactJson(exchanged), decodeMovement) : Option.none())
  if (movement !== undefined)
    return movement.client_ref === reference ? standing(kind, movement) : unread("the answer is about another transaction")
  if (status < 500 && status !== 429) return unread(`HTTP ${status}, and nothing that can be used`)
  return told({ _tag: "Unknown", reason: status === 504 ? "timeout" : "unavailable", note: `HTTP ${status}` })
}

const standing = (kind: Kind, movement: Movement): Reading<Answer> => {
  const { failure, id: providerReference, status } = movement
  const note = `status ${named(status)}`
  if (status === "pending") return told({ _tag: "StillPending", providerReference, note })
  if (status === "failed") return refusedBy(kind, failure ?? "unsaid", providerReference)
  const sum = sumOf(movement)
  const at = Option.getOrUndefined(instantOf(movement.updated_at))
  if (sum === undefined || at === undefined) return unread("an amount, a currency or a time cannot be read")
  if (status === "succeeded") return told({ _tag: "Succeeded", providerReference, ...sum, note })
  const { amount, currency, fee: charged } = sum
  if (status === "returned") return told({ _tag: "Returned", amount, currency, fee: ZERO, charged, at, note })
  return unread(`a status without a meaning here: ${named(status)}`)
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

const unread = (why: string) => ({ fact: { _tag: "Unknown", reason: "bad_response", note: why } as const, alarm: why })

/** The code of an error in Tumbuka Pay's own shape; a page in between has none. */
const errorOf = (exchanged: Exchanged): string | null =>
  exchanged._tag !== "Answered"
    ? null
    : Option.match(Option.flatMap(exactJson(exchanged), decodeError), { onNone: () => null, onSome: ({ error }) => error.code })

const decodeError = Schema.decodeUnknownOption(ErrorAnswer)
const decodeMovement = Schema.decodeUnknownOption(Movement)
