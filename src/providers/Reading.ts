import { Effect, Option, Schema } from "effect"
import { ProviderError } from "../domain/errors/Retriable.ts"
import type { Fact, RefusalKind } from "../domain/Fact.ts"
import type { FailureCode } from "../domain/Transaction.ts"
import type { Answer, PayoutOutcome } from "../services/ports/Provider.ts"
import { type Exchanged, exactJson } from "./Transport.ts"

/** What an answer means. `alarm` is for the operator: the provider, or our account there, is not as its adapter expects. */
export interface Reading<F> {
  readonly fact: F
  readonly alarm: string | null
}

export type Refused = Extract<Fact, { _tag: "Refused" }>
export type Unknown = Extract<Fact, { _tag: "Unknown" }>
type Answered = Extract<Exchanged, { _tag: "Answered" }>

export const told = <F>(fact: F): Reading<F> => ({ fact, alarm: null })

export interface Refusal {
  readonly kind: RefusalKind
  readonly code: FailureCode
  readonly message: string
  readonly alarm: string | null
}

export const refusalOf = (kind: RefusalKind, code: FailureCode, message: string, alarm: string | null = null): Refusal => ({
  kind,
  code,
  message,
  alarm
})

/** Our key, our account or our address: nothing was executed. */
export const notAdmittedBy = (alarm: string): Refusal =>
  refusalOf("config", "provider_rejected", "The provider does not accept the gateway's account.", alarm)

export const refusedBy = (
  { alarm, code, kind, message }: Refusal,
  providerReference: string | null,
  note: string
): Reading<Refused> => ({
  fact: { _tag: "Refused", providerReference, kind, failure: { code, message }, note },
  alarm
})

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

/** No answer that can be believed; `said` is how one that came is noted, and whether that is loud. */
export const unbelieved = (
  exchanged: Exchanged,
  said: (answered: Answered, reason: Unknown["reason"]) => { readonly note: string; readonly alarm: string | null }
): Reading<Unknown> => {
  if (exchanged._tag === "NotSent") return told({ _tag: "Unknown", reason: "unavailable", note: exchanged.note })
  if (exchanged._tag === "Lost") return told({ _tag: "Unknown", reason: exchanged.reason, note: exchanged.note })
  const { status } = exchanged
  const reason = unknownReasons.get(status) ?? (status >= 500 ? "unavailable" : "bad_response")
  const { alarm, note } = said(exchanged, reason)
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
  (exchanged: Exchanged): Reading<Unknown> =>
    unbelieved(exchanged, ({ status }) =>
      isSuccess(status)
        ? { note: `HTTP ${status}, unreadable`, alarm: `an answer of ${provider}'s cannot be read` }
        : { note: `HTTP ${status}`, alarm: status === 401 || status === 403 ? notAdmitted : null }
    )

/** An answer that can be read, and does not make sense. */
export const unread = (why: string, status: string): Reading<Unknown> => ({
  fact: { _tag: "Unknown", reason: "bad_response", note: why },
  alarm: `${why} (status ${JSON.stringify(status.slice(0, LONGEST_STATUS))})`
})
const LONGEST_STATUS = 40

/** What stands there, as the answer to the call that made it; `senseless` is said where there is nothing, or it came back already. */
export const asMade = ({ alarm, fact }: Reading<Answer>, senseless: string): Reading<PayoutOutcome> => {
  switch (fact._tag) {
    case "StillPending": {
      const { note, providerReference } = fact
      return { fact: { _tag: "Accepted", providerReference, observedAmount: null, observedCurrency: null, note }, alarm }
    }
    case "NotFound":
    case "Returned":
      return unread(senseless, fact._tag)
    default:
      return { fact, alarm }
  }
}

/** What a refusal by a payout's own call comes to: what a lookup found decides, and nothing found lets the refusal stand. */
export const confirming =
  (senseless: string) =>
  (refused: Reading<PayoutOutcome>, looked: Reading<Answer>): Reading<PayoutOutcome> =>
    looked.fact._tag === "NotFound" ? refused : asMade(looked, senseless)

/** An alarm is for the operator; the fact is the same with and without it. */
export const hearing =
  (provider: string) =>
  <F>({ alarm, fact }: Reading<F>, reference: string): Effect.Effect<F> =>
    alarm === null ? Effect.succeed(fact) : Effect.as(Effect.logError(alarm, { provider, reference }), fact)

/** A free read's answer. */
export const read = Effect.fnUntraced(function* <A>(
  schema: Schema.ConstraintDecoder<A>,
  exchanged: Exchanged,
  noAnswer: (exchanged: Exchanged) => Reading<Unknown>
) {
  const answer = decoded(schema, exchanged)
  if (Option.isSome(answer)) return answer.value
  const { alarm } = noAnswer(exchanged)
  if (alarm !== null) yield* Effect.logError(alarm)
  return yield* new ProviderError()
})
