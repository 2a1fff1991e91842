import { Effect, Option, type Schema } from "effect"
import { ProviderError } from "../domain/errors/Retriable.ts"
import type { Call, Client, Deadline } from "./Client.ts"
import { deadlineAfter } from "./Client.ts"
import { alarmLogger, decoded, type NoAnswer, type Reading } from "./Reading.ts"
import type { ProviderResponse } from "./Transport.ts"

/** Who a provider is, and how it says nothing. */
export interface Identity {
  /** As corridor rows spell it. */
  readonly name: string
  /** As alarms call it. */
  readonly title: string
  readonly noAnswer: NoAnswer
}

/** One account at a provider, with what every adapter does over it. */
export interface Connection extends Identity {
  readonly client: Client
  /** Of a call that begins now. */
  readonly deadline: Deadline
  /** One call with a deadline of its own, made once. */
  readonly call: (call: Call) => Effect.Effect<ProviderResponse>
  /** The answer to a free read; one that cannot be believed is a ProviderError, and logged where it is loud. */
  readonly read: <A>(schema: Schema.ConstraintDecoder<A>, response: ProviderResponse) => Effect.Effect<A, ProviderError>
  /** Asks for it and reads it. */
  readonly get: <A>(schema: Schema.ConstraintDecoder<A>, operation: string, path: string) => Effect.Effect<A, ProviderError>
  /** For an answer that cannot be used. */
  readonly giveUp: (alarm: string | null) => Effect.Effect<never, ProviderError>
  readonly logAlarm: <F>(reading: Reading<F>, reference: string) => Effect.Effect<F>
}

export const connectionTo = (identity: Identity, client: Client, timeoutMs: number): Connection => {
  const { name: provider, noAnswer } = identity
  const deadline = deadlineAfter(timeoutMs)
  const call: Connection["call"] = (one) => Effect.flatMap(deadline, (until) => client(one, until))
  const giveUp: Connection["giveUp"] = Effect.fnUntraced(function* (alarm) {
    if (alarm !== null) yield* Effect.logError(alarm, { provider })
    return yield* new ProviderError()
  })
  const read: Connection["read"] = (schema, response) =>
    Option.match(decoded(schema, response), {
      onNone: () => giveUp(noAnswer(response).alarm),
      onSome: Effect.succeed
    })
  return {
    ...identity,
    client,
    deadline,
    call,
    read,
    get: (schema, operation, path) =>
      Effect.flatMap(call({ operation, method: "GET", path }), (response) => read(schema, response)),
    giveUp,
    logAlarm: alarmLogger(provider)
  }
}
