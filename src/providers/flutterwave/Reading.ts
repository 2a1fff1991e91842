import { Effect, Option, Schema } from "effect"
import { ProviderError } from "../../domain/errors/Retriable.ts"
import type { Fact, RefusalKind } from "../../domain/Fact.ts"
import type { FailureCode } from "../../domain/Transaction.ts"
import { type Exchanged, exactJson } from "../Transport.ts"
import { ErrorAnswer } from "./Wire.ts"

/** What an answer means. `alarm` is for the operator: Flutterwave, or our account there, is not as this adapter expects. */
export interface Reading<F> {
  readonly fact: F
  readonly alarm: string | null
}

export type Refused = Extract<Fact, { _tag: "Refused" }>
export type Unknown = Extract<Fact, { _tag: "Unknown" }>

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

/** The body of a 2xx answer, where it has the shape that it must have. */
export const decoded = <A>(schema: Schema.ConstraintDecoder<A>, exchanged: Exchanged): Option.Option<A> =>
  exchanged._tag === "Answered" && isSuccess(exchanged.status)
    ? Option.flatMap(exactJson(exchanged), Schema.decodeUnknownOption(schema))
    : Option.none()

/** The HTTP status of a refusal in Flutterwave's own words; what a machine in between may have written is none. */
export const refusalStatus = (exchanged: Exchanged): number | undefined =>
  exchanged._tag === "Answered" && Option.isSome(Option.flatMap(exactJson(exchanged), decodeError)) ? exchanged.status : undefined

const decodeError = Schema.decodeUnknownOption(ErrorAnswer)

const isSuccess = (status: number): boolean => status >= 200 && status <= 299

/** Our secret key, or the address that the calls come from. */
export const NOT_ADMITTED = "Flutterwave refuses the gateway's account or its address"

/** No answer that can be believed. */
export const noAnswer = (exchanged: Exchanged): Reading<Unknown> => {
  if (exchanged._tag === "NotSent") return told({ _tag: "Unknown", reason: "unavailable", note: exchanged.note })
  if (exchanged._tag === "Lost") return told({ _tag: "Unknown", reason: exchanged.reason, note: exchanged.note })
  const { status } = exchanged
  if (isSuccess(status)) {
    const note = `HTTP ${status}, unreadable`
    return { fact: { _tag: "Unknown", reason: "bad_response", note }, alarm: "an answer of Flutterwave's cannot be read" }
  }
  const reason = unknownReasons.get(status) ?? (status >= 500 ? "unavailable" : "bad_response")
  return {
    fact: { _tag: "Unknown", reason, note: `HTTP ${status}` },
    alarm: status === 401 || status === 403 ? NOT_ADMITTED : null
  }
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

/** A free read's answer. */
export const read = Effect.fnUntraced(function* <A>(schema: Schema.ConstraintDecoder<A>, exchanged: Exchanged) {
  const answer = decoded(schema, exchanged)
  if (Option.isSome(answer)) return answer.value
  const { alarm } = noAnswer(exchanged)
  if (alarm !== null) yield* Effect.logError(alarm)
  return yield* new ProviderError()
})
