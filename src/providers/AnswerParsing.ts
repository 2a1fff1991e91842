import { Effect, Option, Schema } from "effect"
import type { Fact } from "../domain/Fact.ts"
import { exactJson, type ProviderResponse } from "./Transport.ts"

/** The meaning of an answer. `alarm` is for the operator: the provider, or our account there, differs from its adapter's expectations. */
export interface FactWithAlarm<F> {
  readonly fact: F
  readonly alarm: string | null
}

export type Unknown = Extract<Fact, { _tag: "Unknown" }>
export type Answered = Extract<ProviderResponse, { _tag: "Answered" }>

/** No answer that can be believed, as a fact: what came back proves nothing. */
export type ReadAsUnknown = (response: ProviderResponse) => FactWithAlarm<Unknown>

export const withoutAlarm = <F>(fact: F): FactWithAlarm<F> => ({ fact, alarm: null })

/** The body of an answer with one of these statuses, where it has the shape that it must have. */
export const decoded = <A>(
  schema: Schema.ConstraintDecoder<A>,
  response: ProviderResponse,
  fits: (status: number) => boolean = isSuccess
): Option.Option<A> =>
  response._tag === "Answered" && fits(response.status)
    ? Option.flatMap(exactJson(response), Schema.decodeUnknownOption(schema))
    : Option.none()

/** The rows that a search found, each once, as it was shown last; undefined where its answer cannot be read. */
export const foundRows = <Row extends { readonly id: string }>(
  schema: Schema.ConstraintDecoder<{ readonly result: ReadonlyArray<Row> }>,
  response: ProviderResponse
): ReadonlyArray<Row> | undefined =>
  Option.getOrUndefined(
    Option.map(decoded(schema, response), ({ result }) => [...new Map(result.map((row) => [row.id, row])).values()])
  )

/** Reads an error in the provider's own form, whatever its status. The page of a machine in between has another form, and is none. */
export const errorIn = <A>(schema: Schema.ConstraintDecoder<A>): ((response: ProviderResponse) => A | undefined) => {
  const decode = Schema.decodeUnknownOption(schema)
  return (response) =>
    response._tag === "Answered" ? Option.getOrUndefined(Option.flatMap(exactJson(response), decode)) : undefined
}

export const isSuccess = (status: number): boolean => status >= 200 && status <= 299

export const isAnswered = (response: ProviderResponse, ...statuses: ReadonlyArray<number>): boolean =>
  response._tag === "Answered" && statuses.includes(response.status)

/** No answer that can be believed; `said` is how one that came is noted, and whether that is loud. */
export const unknownOutcome = (
  response: ProviderResponse,
  said: (answered: Answered, reason: Unknown["reason"]) => { readonly note: string; readonly alarm: string | null }
): FactWithAlarm<Unknown> => {
  if (response._tag === "NotSent") return withoutAlarm({ _tag: "Unknown", reason: "unavailable", note: response.note })
  if (response._tag === "Lost") return withoutAlarm({ _tag: "Unknown", reason: response.reason, note: response.note })
  const { status } = response
  const reason = unknownReasons.get(status) ?? (status >= 500 ? "unavailable" : "bad_response")
  const { alarm, note } = said(response, reason)
  return { fact: { _tag: "Unknown", reason, note }, alarm }
}

const unknownReasons: ReadonlyMap<number, Unknown["reason"]> = new Map([
  [408, "timeout"],
  [429, "unavailable"],
  [504, "timeout"]
])

/** Loud are a success that cannot be read, and what says that our account is refused. */
export const unknownReader =
  (provider: string, notAdmitted: string): ReadAsUnknown =>
  (response) =>
    unknownOutcome(response, ({ status }) =>
      isSuccess(status)
        ? { note: `HTTP ${status}, unreadable`, alarm: `an answer of ${provider}'s cannot be read` }
        : { note: `HTTP ${status}`, alarm: status === 401 || status === 403 ? notAdmitted : null }
    )

/** Of a provider whose errors have codes: how an answer is noted, with its code where it has one. Loud is what cannot be read. */
export const codedAnswers = (provider: string, codeOf: (response: ProviderResponse) => string | null) => {
  const noteOf = (answered: Answered): string => {
    const code = codeOf(answered)
    return `HTTP ${answered.status}${code === null ? "" : `, ${code}`}`
  }
  const readAsUnknown: ReadAsUnknown = (response) =>
    unknownOutcome(response, (answered, reason) => {
      const note = noteOf(answered)
      return { note, alarm: reason === "bad_response" ? `an answer of ${provider}'s cannot be read: ${note}` : null }
    })
  return { noteOf, readAsUnknown }
}

/** An answer that can be read, and does not make sense. */
export const unreadable = (why: string, status: string): FactWithAlarm<Unknown> => ({
  fact: { _tag: "Unknown", reason: "bad_response", note: why },
  alarm: `${why} (status ${JSON.stringify(status.slice(0, LONGEST_STATUS))})`
})
const LONGEST_STATUS = 40

/** An alarm is for the operator: what it says is a field, so that each has the one sentence that is searched for. */
export const logAlarm = (alarm: string): Effect.Effect<void> =>
  Effect.annotateLogs(Effect.logError("a provider, or our account there, is not as its adapter expects"), { alarm })

/** The fact is the same with and without its alarm. */
export const alarmLogger =
  (provider: string) =>
  <F>({ alarm, fact }: FactWithAlarm<F>, reference: string): Effect.Effect<F> =>
    alarm === null ? Effect.succeed(fact) : Effect.as(Effect.annotateLogs(logAlarm(alarm), { provider, reference }), fact)
