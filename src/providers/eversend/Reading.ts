import { Option, Schema } from "effect"
import type { Fact, RefusalKind } from "../../domain/Fact.ts"
import type { FailureCode } from "../../domain/Transaction.ts"
import { type Exchanged, exactJson } from "../Transport.ts"

/** What an answer means. `alarm` is for the operator: Eversend, or our account there, is not as this adapter expects. */
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

/** Our account, our address or our origin: 401 after a new token, and 403. */
export const notAdmitted: Refusal = {
  kind: "config",
  code: "provider_rejected",
  message: "The provider does not accept the gateway's account.",
  alarm: "Eversend refuses the gateway's account, its address or its origin"
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

const isSuccess = (status: number): boolean => status >= 200 && status <= 299

/** No answer that can be believed. */
export const noAnswer = (exchanged: Exchanged): Reading<Unknown> => {
  if (exchanged._tag === "NotSent") return told({ _tag: "Unknown", reason: "unavailable", note: exchanged.note })
  if (exchanged._tag === "Lost") return told({ _tag: "Unknown", reason: exchanged.reason, note: exchanged.note })
  const { status } = exchanged
  const note = `HTTP ${status}`
  if (isSuccess(status))
    return {
      fact: { _tag: "Unknown", reason: "bad_response", note: `${note}, unreadable` },
      alarm: "an answer of Eversend's cannot be read"
    }
  const alarm = status === 401 || status === 403 ? notAdmitted.alarm : null
  return {
    fact: { _tag: "Unknown", reason: unknownReasons.get(status) ?? (status >= 500 ? "unavailable" : "bad_response"), note },
    alarm
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
