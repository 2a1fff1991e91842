import { Option, Schema } from "effect"
import type { Fact, RefusalKind } from "../../domain/Fact.ts"
import type { FailureCode } from "../../domain/Transaction.ts"
import { type Exchanged, exactJson } from "../Transport.ts"
import { ErrorAnswer } from "./Wire.ts"

/** What an answer means. `alarm` is for the operator: MTN, or our account there, is not as this adapter expects. */
export interface Reading<F> {
  readonly fact: F
  readonly alarm: string | null
}

export type Refused = Extract<Fact, { _tag: "Refused" }>
export type Unknown = Extract<Fact, { _tag: "Unknown" }>

export interface Refusal {
  readonly kind: RefusalKind
  readonly code: FailureCode
  readonly message: string
  readonly alarm: string | null
}

type Answered = Extract<Exchanged, { _tag: "Answered" }>

export const told = <F>(fact: F): Reading<F> => ({ fact, alarm: null })

export const refusedBy = (refusal: Refusal, providerReference: string | null, note: string): Reading<Refused> => {
  const { alarm, code, kind, message } = refusal
  return { fact: { _tag: "Refused", providerReference, kind, failure: { code, message }, note }, alarm }
}

/** The body of a 200, where it has the shape that it must have. */
export const decoded = <A>(schema: Schema.ConstraintDecoder<A>, exchanged: Exchanged): Option.Option<A> =>
  exchanged._tag === "Answered" && exchanged.status === 200
    ? Option.flatMap(exactJson(exchanged), Schema.decodeUnknownOption(schema))
    : Option.none()

const CODE = /^[A-Z][A-Z_]{1,60}$/

/** An error that MTN itself answered, not something on the way to it. */
const errorOf = (exchanged: Answered) => Option.flatMap(exactJson(exchanged), Schema.decodeUnknownOption(ErrorAnswer))

export const isOwnError = (exchanged: Answered): boolean => Option.isSome(errorOf(exchanged))

export const codeOf = (exchanged: Answered): string | null =>
  errorOf(exchanged).pipe(
    Option.map((error) => ("code" in error ? error.code : "")),
    Option.filter((code) => CODE.test(code)),
    Option.getOrNull
  )

export const noteOf = (exchanged: Answered): string => {
  const code = codeOf(exchanged)
  return `HTTP ${exchanged.status}${code === null ? "" : `, ${code}`}`
}

/** No answer that can be believed. */
export const noAnswer = (exchanged: Exchanged): Reading<Unknown> => {
  if (exchanged._tag === "NotSent") return told({ _tag: "Unknown", reason: "unavailable", note: exchanged.note })
  if (exchanged._tag === "Lost") return told({ _tag: "Unknown", reason: exchanged.reason, note: exchanged.note })
  const { status } = exchanged
  const isPassing = status >= 500 || status === 408 || status === 429
  const reason = status === 408 || status === 504 ? "timeout" : isPassing ? "unavailable" : "bad_response"
  const note = noteOf(exchanged)
  return { fact: { _tag: "Unknown", reason, note }, alarm: isPassing ? null : `an answer of MTN's cannot be read: ${note}` }
}

/** An answer that can be read, and does not make sense. */
export const unread = (why: string, status: string): Reading<Unknown> => ({
  fact: { _tag: "Unknown", reason: "bad_response", note: why },
  alarm: `${why} (status ${JSON.stringify(status.slice(0, LONGEST_STATUS))})`
})
const LONGEST_STATUS = 40
