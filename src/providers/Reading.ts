import { Effect, Option, Schema } from "effect"
import { ProviderError } from "../domain/errors/Retriable.ts"
import type { Fact, RefusalKind } from "../domain/Fact.ts"
import type { FailureCode } from "../domain/Transaction.ts"
import type { PayoutOutcome, StatusOutcome } from "../services/ports/Provider.ts"
import { exactJson, type ProviderResponse } from "./Transport.ts"

/** What an answer means. `alarm` is for the operator: the provider, or our account there, is not as its adapter expects. */
export interface Reading<F> {
  readonly fact: F
  readonly alarm: string | null
}

export type Refused = Extract<Fact, { _tag: "Refused" }>
export type Unknown = Extract<Fact, { _tag: "Unknown" }>
type Answered = Extract<ProviderResponse, { _tag: "Answered" }>

export const withoutAlarm = <F>(fact: F): Reading<F> => ({ fact, alarm: null })

export interface ProviderRefusal {
  readonly kind: RefusalKind
  readonly code: FailureCode
  readonly message: string
  readonly alarm: string | null
}

export const refusalOf = (
  kind: RefusalKind,
  code: FailureCode,
  message: string,
  alarm: string | null = null
): ProviderRefusal => ({
  kind,
  code,
  message,
  alarm
})

/** Our key, our account or our address: nothing was executed. */
export const notAdmittedBy = (alarm: string): ProviderRefusal =>
  refusalOf("config", "provider_rejected", "The provider does not accept the gateway's account.", alarm)

export const refusedBy = (
  { alarm, code, kind, message }: ProviderRefusal,
  providerReference: string | null,
  note: string
): Reading<Refused> => ({
  fact: { _tag: "Refused", providerReference, kind, failure: { code, message }, note },
  alarm
})

/** The body of an answer with one of these statuses, where it has the shape that it must have. */
export const decoded = <A>(
  schema: Schema.ConstraintDecoder<A>,
  response: ProviderResponse,
  fits: (status: number) => boolean = isSuccess
): Option.Option<A> =>
  response._tag === "Answered" && fits(response.status)
    ? Option.flatMap(exactJson(response), Schema.decodeUnknownOption(schema))
    : Option.none()

export const isSuccess = (status: number): boolean => status >= 200 && status <= 299

/** No answer that can be believed; `said` is how one that came is noted, and whether that is loud. */
export const unknownOutcome = (
  response: ProviderResponse,
  said: (answered: Answered, reason: Unknown["reason"]) => { readonly note: string; readonly alarm: string | null }
): Reading<Unknown> => {
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
export const noAnswerOf =
  (provider: string, notAdmitted: string) =>
  (response: ProviderResponse): Reading<Unknown> =>
    unknownOutcome(response, ({ status }) =>
      isSuccess(status)
        ? { note: `HTTP ${status}, unreadable`, alarm: `an answer of ${provider}'s cannot be read` }
        : { note: `HTTP ${status}`, alarm: status === 401 || status === 403 ? notAdmitted : null }
    )

/** An answer that can be read, and does not make sense. */
export const unreadable = (why: string, status: string): Reading<Unknown> => ({
  fact: { _tag: "Unknown", reason: "bad_response", note: why },
  alarm: `${why} (status ${JSON.stringify(status.slice(0, LONGEST_STATUS))})`
})
const LONGEST_STATUS = 40

/** What stands there, as the answer to the call that made it; `senseless` is said where there is nothing, or it came back already. */
export const asCreateOutcome = ({ alarm, fact }: Reading<StatusOutcome>, senseless: string): Reading<PayoutOutcome> => {
  switch (fact._tag) {
    case "StillPending": {
      const { note, providerReference } = fact
      return { fact: { _tag: "Accepted", providerReference, observedAmount: null, observedCurrency: null, note }, alarm }
    }
    case "NotFound":
    case "Returned":
      return unreadable(senseless, fact._tag)
    default:
      return { fact, alarm }
  }
}

/** What a refusal by a payout's own call comes to: what a lookup found decides, and nothing found lets the refusal stand. */
export const confirmRefusal =
  (senseless: string) =>
  (refused: Reading<PayoutOutcome>, looked: Reading<StatusOutcome>): Reading<PayoutOutcome> =>
    looked.fact._tag === "NotFound" ? refused : asCreateOutcome(looked, senseless)

/** An alarm is for the operator; the fact is the same with and without it. */
export const alarmLogger =
  (provider: string) =>
  <F>({ alarm, fact }: Reading<F>, reference: string): Effect.Effect<F> =>
    alarm === null ? Effect.succeed(fact) : Effect.as(Effect.logError(alarm, { provider, reference }), fact)

/** A free read's answer. */
export const read = Effect.fnUntraced(function* <A>(
  schema: Schema.ConstraintDecoder<A>,
  response: ProviderResponse,
  noAnswer: (response: ProviderResponse) => Reading<Unknown>
) {
  const answer = decoded(schema, response)
  if (Option.isSome(answer)) return answer.value
  const { alarm } = noAnswer(response)
  if (alarm !== null) yield* Effect.logError(alarm)
  return yield* new ProviderError()
})
