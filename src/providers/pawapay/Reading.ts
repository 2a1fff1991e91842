import { Option, Schema } from "effect"
import type { Fact } from "../../domain/Fact.ts"
import { type Exchanged, exactJson } from "../Transport.ts"

/** What an answer means. `alarm` is for the operator: pawaPay, or our account there, is not as this adapter expects. */
export interface Reading<F> {
  readonly fact: F
  readonly alarm: string | null
}

export type Refused = Extract<Fact, { _tag: "Refused" }>
export type Unknown = Extract<Fact, { _tag: "Unknown" }>

export const told = <F>(fact: F): Reading<F> => ({ fact, alarm: null })

/** The body of an answer with one of these statuses, where it has the shape that it must have. */
export const decoded = <A>(
  schema: Schema.ConstraintDecoder<A>,
  exchanged: Exchanged,
  fits: (status: number) => boolean = isSuccess
): Option.Option<A> =>
  exchanged._tag === "Answered" && fits(exchanged.status)
    ? Option.flatMap(exactJson(exchanged), Schema.decodeUnknownOption(schema))
    : Option.none()

export const isSuccess = (status: number): boolean => status >= 200 && status <= 299

/** No answer that can be believed. */
export const noAnswer = (exchanged: Exchanged): Reading<Unknown> => {
  if (exchanged._tag === "NotSent") return told({ _tag: "Unknown", reason: "unavailable", note: exchanged.note })
  if (exchanged._tag === "Lost") return told({ _tag: "Unknown", reason: exchanged.reason, note: exchanged.note })
  const { status } = exchanged
  const reason = unknownReasons.get(status) ?? (status >= 500 ? "unavailable" : "bad_response")
  const alarm = reason === "bad_response" ? `pawaPay answers HTTP ${status} and nothing that can be used` : null
  return { fact: { _tag: "Unknown", reason, note: `HTTP ${status}` }, alarm }
}

const unknownReasons: ReadonlyMap<number, Unknown["reason"]> = new Map([
  [408, "timeout"],
  [429, "unavailable"],
  [504, "timeout"]
])

/** An answer that can be read, and does not make sense. */
export const unread = (why: string, status: string): Reading<Unknown> => ({
  fact: { _tag: "Unknown", reason: "bad_response", note: why },
  alarm: `pawaPay's answer makes no sense: ${why} (status ${JSON.stringify(status.slice(0, LONGEST_STATUS))})`
})
const LONGEST_STATUS = 40
