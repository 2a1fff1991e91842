import { Clock, Effect, Option, type Schema, type Scope } from "effect"
import { ProviderError } from "../domain/errors/Retriable.ts"
import type { Mode } from "../domain/Ids.ts"
import { type CallMemory, RecentCalls } from "../runtime/RecentCalls.ts"
import type { Adapter, ProviderGuarantees } from "../services/ports/Provider.ts"
import { alarmLogger, decoded, type FactWithAlarm, logAlarm, type ReadAsUnknown } from "./AnswerParsing.ts"
import type { Call, Client, Deadline } from "./Client.ts"
import { deadlineAfter } from "./Client.ts"
import { noneTurnedAway, PaceBuckets, PaceOf, paced } from "./Pace.ts"
import { openTransport, type ProviderResponse, type Transport } from "./Transport.ts"

/** The names of a provider, and its way to read an answer as unknown. */
export interface Identity {
  /** As corridor rows spell it. */
  readonly name: string
  /** As alarms call it. */
  readonly title: string
  readonly readAsUnknown: ReadAsUnknown
  /** Its contracts end at the border, and each has a pace of its own. */
  readonly accountPerCountry?: boolean
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
  readonly logAlarm: <F>(reading: FactWithAlarm<F>, reference: string) => Effect.Effect<F>
}

/** The operations of a provider over one account; one that it does not have is absent. */
export type Operations = Omit<Adapter, "name" | "mode" | "guarantees" | "moneyHeldMs">

/** Opens one account in one mode, as its provider's `open` says. Its connections close with the scope. */
export const adapterOf = <Account>(
  { accountPerCountry = false, name }: Identity,
  guarantees: ProviderGuarantees,
  open: (account: Account, transport: Transport) => Effect.fn.Return<Operations, never, Scope.Scope>
) => {
  const operations = Effect.fnUntraced(open)
  return Effect.fn(name)(function* (account: Account, mode: Mode): Effect.fn.Return<Adapter, never, Scope.Scope> {
    const transport = remembering(yield* RecentCalls, { provider: name, mode }, yield* openTransport(name))
    const [of, buckets] = [yield* PaceOf, yield* PaceBuckets]
    if (of === null || buckets === null) return { name, mode, guarantees, ...(yield* operations(account, transport)) }
    yield* noneTurnedAway(of)
    const inPace = paced(transport, of, buckets)
    const moneyHeldMs = (country: string | null) => inPace.heldMs(accountPerCountry ? (country ?? "") : "")
    return { name, mode, guarantees, moneyHeldMs, ...(yield* operations(account, inPace)) }
  })
}

/** The same calls; what became of each is kept for the console. */
const remembering = (
  calls: CallMemory,
  account: { readonly provider: string; readonly mode: Mode },
  { call }: Transport
): Transport => ({
  call: (one) =>
    Effect.tap(call(one), (response) =>
      Effect.map(Clock.currentTimeMillis, (at) =>
        calls.record({ ...account, operation: one.operation }, { at, failure: failureOf(response) })
      )
    )
})

const SERVER_ERROR = 500
/** They refuse the gateway itself, and not one payment. */
const NOT_ADMITTED: ReadonlyArray<number> = [401, 403]

const failureOf = (response: ProviderResponse): string | null => {
  if (response._tag !== "Answered") return response.note
  const { status } = response
  return status >= SERVER_ERROR || NOT_ADMITTED.includes(status) ? `HTTP ${status}` : null
}

export const connectionTo = (identity: Identity, client: Client, timeoutMs: number): Connection => {
  const { name: provider, readAsUnknown } = identity
  const deadline = deadlineAfter(timeoutMs)
  const call: Connection["call"] = (one) => Effect.flatMap(deadline, (until) => client(one, until))
  const giveUp: Connection["giveUp"] = Effect.fnUntraced(function* (alarm) {
    if (alarm !== null) yield* Effect.annotateLogs(logAlarm(alarm), { provider })
    return yield* new ProviderError({})
  })
  const read: Connection["read"] = (schema, response) =>
    Option.match(decoded(schema, response), {
      onNone: () => giveUp(readAsUnknown(response).alarm),
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
