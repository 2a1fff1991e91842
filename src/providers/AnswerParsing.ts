import { Effect, Option, Schema } from "effect"
import type { Fact } from "../domain/Fact.ts"
import { maskedText } from "../domain/Masking.ts"
import { exactJson, type ProviderResponse } from "./Transport.ts"

/** The fact that a response proves. `alarm` is for the operator: the provider, or our account, behaves unexpectedly. */
export interface FactWithAlarm<F> {
  readonly fact: F
  readonly alarm: string | null
}

export type Unknown = Extract<Fact, { _tag: "Unknown" }>
export type Answered = Extract<ProviderResponse, { _tag: "Answered" }>

/** Turns a response that cannot be trusted into an `Unknown` fact, because it proves nothing. */
export type ReadAsUnknown = (response: ProviderResponse) => FactWithAlarm<Unknown>

export const withoutAlarm = <F>(fact: F): FactWithAlarm<F> => ({ fact, alarm: null })

/** The body of a response with a matching status, when it has the expected shape. */
export const decoded = <A>(
  schema: Schema.ConstraintDecoder<A>,
  response: ProviderResponse,
  fits: (status: number) => boolean = isSuccess
): Option.Option<A> =>
  response._tag === "Answered" && fits(response.status)
    ? Option.flatMap(exactJson(response), Schema.decodeUnknownOption(schema))
    : Option.none()

/** The rows of a search result; of a repeated row only the last version. Undefined when the response cannot be parsed. */
export const foundRows = <Row extends { readonly id: string }>(
  schema: Schema.ConstraintDecoder<{ readonly result: ReadonlyArray<Row> }>,
  response: ProviderResponse
): ReadonlyArray<Row> | undefined =>
  Option.getOrUndefined(
    Option.map(decoded(schema, response), ({ result }) => [...new Map(result.map((row) => [row.id, row])).values()])
  )

/** Reads an error in the provider's own form, whatever its status. An error page of a proxy has another form and is ignored. */
export const errorIn = <A>(schema: Schema.ConstraintDecoder<A>): ((response: ProviderResponse) => A | undefined) => {
  const decode = Schema.decodeUnknownOption(schema)
  return (response) =>
    response._tag === "Answered" ? Option.getOrUndefined(Option.flatMap(exactJson(response), decode)) : undefined
}

export const isSuccess = (status: number): boolean => status >= 200 && status <= 299

export const isAnswered = (response: ProviderResponse, ...statuses: ReadonlyArray<number>): boolean =>
  response._tag === "Answered" && statuses.includes(response.status)

/** The `Unknown` fact of a response that cannot be trusted. `said` returns the note of an answered call, and any alarm. */
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

/** Alarms for a success that cannot be parsed, and for a refusal of our account. */
export const unknownReader =
  (provider: string, notAdmitted: string): ReadAsUnknown =>
  (response) =>
    unknownOutcome(response, ({ status }) =>
      isSuccess(status)
        ? { note: `HTTP ${status}, unreadable`, alarm: `an answer of ${provider}'s cannot be read` }
        : { note: `HTTP ${status}`, alarm: status === 401 || status === 403 ? notAdmitted : null }
    )

/** For a provider with error codes: builds notes that contain the code, and alarms for responses that cannot be parsed. */
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

/** A response that can be parsed but makes no sense. */
export const unreadable = (why: string, status: string): FactWithAlarm<Unknown> => ({
  fact: { _tag: "Unknown", reason: "bad_response", note: why },
  alarm: `${why} (status ${shownWord(status)})`
})

/** A word that is not in the provider's vocabulary: it could be a sentence with a name or a number in it. */
export const shownWord = (word: string): string => JSON.stringify(maskedText(word.slice(0, LONGEST_WORD)))
const LONGEST_WORD = 40

/** An alarm is for the operator. Its text is a field, so that the log message is constant and can be searched for. */
export const logAlarm = (alarm: string): Effect.Effect<void> =>
  Effect.annotateLogs(Effect.logError("a provider, or our account there, is not as its adapter expects"), { alarm })

/** Logs a fact's alarm, if it has one, and returns the fact. */
export const alarmLogger =
  (provider: string) =>
  <F>({ alarm, fact }: FactWithAlarm<F>, reference: string): Effect.Effect<F> =>
    alarm === null ? Effect.succeed(fact) : Effect.as(Effect.annotateLogs(logAlarm(alarm), { provider, reference }), fact)
