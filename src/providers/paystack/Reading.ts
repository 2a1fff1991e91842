import { Effect, Option, Schema } from "effect"
import type { Fact, RefusalKind } from "../../domain/Fact.ts"
import type { FailureCode } from "../../domain/Transaction.ts"
import { type Exchanged, exactJson } from "../Transport.ts"
import { ErrorAnswer } from "./Wire.ts"

/** As corridor rows spell it. */
export const NAME = "paystack"

/** What an answer means. `alarm` is for the operator: Paystack, or our account there, is not as this adapter expects. */
export interface Reading<F> {
  readonly fact: F
  readonly alarm: string | null
}

export type Refused = Extract<Fact, { _tag: "Refused" }>
export type Unknown = Extract<Fact, { _tag: "Unknown" }>
export type NotFound = Extract<Fact, { _tag: "NotFound" }>

export const told = <F>(fact: F): Reading<F> => ({ fact, alarm: null })

export interface Refusal {
  readonly kind: RefusalKind
  readonly code: FailureCode
  readonly message: string
  readonly alarm: string | null
}

export const refusedBy = (
  { alarm, code, kind, message }: Refusal,
  providerReference: string | null,
  note: string
): Reading<Refused> => ({
  fact: { _tag: "Refused", providerReference, kind, failure: { code, message }, note },
  alarm
})

const NOT_ADMITTED = "Paystack refuses the gateway's key or its address"

/** Our key or our address: nothing was executed. */
export const notAdmitted: Refusal = {
  kind: "config",
  code: "provider_rejected",
  message: "The provider does not accept the gateway's account.",
  alarm: NOT_ADMITTED
}

/** The body of a 2xx answer, where it has the shape that it must have. */
export const decoded = <A>(schema: Schema.ConstraintDecoder<A>, exchanged: Exchanged): Option.Option<A> =>
  exchanged._tag === "Answered" && isSuccess(exchanged.status)
    ? Option.flatMap(exactJson(exchanged), Schema.decodeUnknownOption(schema))
    : Option.none()

const isSuccess = (status: number): boolean => status >= 200 && status <= 299

const decodeError = Schema.decodeUnknownOption(ErrorAnswer)

/** A refusal in Paystack's own form; a page of something before it is none. */
export const errorOf = (exchanged: Exchanged): typeof ErrorAnswer.Type | undefined =>
  exchanged._tag === "Answered" ? Option.getOrUndefined(Option.flatMap(exactJson(exchanged), decodeError)) : undefined

/** Paystack itself says that it has nothing by our reference: 404, or 400 with the code for that. */
export const notFound = (exchanged: Exchanged): Reading<NotFound> | undefined => {
  const error = errorOf(exchanged)
  if (exchanged._tag !== "Answered" || error === undefined) return undefined
  const isAbsent = exchanged.status === 404 || (exchanged.status === 400 && error.code === "transaction_not_found")
  return isAbsent ? told({ _tag: "NotFound", note: "nothing by our reference" }) : undefined
}

/**
 * An earlier arrival of the same request took the reference. Only texts say so, and they are read for one thing: such a refusal is never
 * believed, found or not.
 */
export const isDuplicate = (exchanged: Exchanged): boolean =>
  /\b(duplicate|already exists|unique reference)\b/i.test(errorOf(exchanged)?.message ?? "")

export const duplicate: Reading<Unknown> = {
  fact: { _tag: "Unknown", reason: "bad_response", note: "the reference is used there, and nothing was found by it yet" },
  alarm: "Paystack has our reference already, and does not find it"
}

/** No answer that can be believed. */
export const noAnswer = (exchanged: Exchanged): Reading<Unknown> => {
  if (exchanged._tag === "NotSent") return told({ _tag: "Unknown", reason: "unavailable", note: exchanged.note })
  if (exchanged._tag === "Lost") return told({ _tag: "Unknown", reason: exchanged.reason, note: exchanged.note })
  const { status } = exchanged
  const note = `HTTP ${status}`
  if (isSuccess(status)) {
    const fact = { _tag: "Unknown", reason: "bad_response", note: `${note}, unreadable` } as const
    return { fact, alarm: "an answer of Paystack's cannot be read" }
  }
  const reason = unknownReasons.get(status) ?? (status >= 500 ? "unavailable" : "bad_response")
  return { fact: { _tag: "Unknown", reason, note }, alarm: status === 401 || status === 403 ? NOT_ADMITTED : null }
}

const unknownReasons: ReadonlyMap<number, Unknown["reason"]> = new Map([
  [408, "timeout"],
  [429, "unavailable"],
  [504, "timeout"]
])

/** An answer that can be read, and does not make sense. */
export const unread = (why: string, status: string): Reading<Unknown> => ({
  fact: { _tag: "Unknown", reason: "bad_response", note: why },
  alarm: `${why} (status ${JSON.stringify(status.slice(0, LONGEST_STATUS))})`
})
const LONGEST_STATUS = 40

/** An alarm is for the operator; the fact is the same with and without it. */
export const heard = <F>({ alarm, fact }: Reading<F>, reference: string): Effect.Effect<F> =>
  alarm === null ? Effect.succeed(fact) : Effect.as(Effect.logError(alarm, { provider: NAME, reference }), fact)
