import { Clock, Effect, Option, type Schema, type Scope } from "effect"
import { ProviderError } from "../domain/errors/Retriable.ts"
import type { Mode } from "../domain/Ids.ts"
import { RecentCalls } from "../runtime/RecentCalls.ts"
import type { Adapter, ProviderGuarantees } from "../services/ports/Provider.ts"
import { alarmLogger, decoded, type FactWithAlarm, logAlarm, type ReadAsUnknown } from "./AnswerParsing.ts"
import type { Call, Client, Deadline } from "./Client.ts"
import { deadlineAfter } from "./Client.ts"
import { noneTurnedAway, PaceBuckets, PaceOf, paced } from "./Pace.ts"
import { openTransport, type ProviderResponse, type Transport } from "./Transport.ts"

/** A provider's names, and how it turns an untrusted response into `Unknown`. */
export interface Identity {
  /** As in corridor rows. */
  readonly name: string
  /** As in alarms. */
  readonly title: string
  readonly readAsUnknown: ReadAsUnknown
  /** True when its contracts are per country, each with a pace of its own. */
  readonly accountPerCountry?: boolean
}

/** One account at a provider, with the functions that every adapter needs. */
export interface Connection extends Identity {
  readonly client: Client
  /** For a call that begins now. */
  readonly deadline: Deadline
  /** Makes one call with its own deadline, without a retry. */
  readonly call: (call: Call) => Effect.Effect<ProviderResponse>
  /** Decodes the response to a free read. One that cannot be trusted becomes a ProviderError, logged when it raises an alarm. */
  readonly read: <A>(schema: Schema.ConstraintDecoder<A>, response: ProviderResponse) => Effect.Effect<A, ProviderError>
  /** Makes a free read and decodes its response. */
  readonly get: <A>(schema: Schema.ConstraintDecoder<A>, operation: string, path: string) => Effect.Effect<A, ProviderError>
  /** Fails for a response that cannot be used. */
  readonly giveUp: (alarm: string | null) => Effect.Effect<never, ProviderError>
  readonly logAlarm: <F>(reading: FactWithAlarm<F>, reference: string) => Effect.Effect<F>
}

/** A provider's operations for one account; an operation that it does not have is absent. */
export type Operations = Omit<Adapter, "name" | "mode" | "guarantees" | "moneyHeldMs">

/** Opens one account in one mode with the provider's `open`. Its connections close with the scope. */
export const adapterOf = <Account>(
  { accountPerCountry = false, name }: Identity,
  guarantees: ProviderGuarantees,
  open: (account: Account, transport: Transport) => Effect.fn.Return<Operations, never, Scope.Scope>
) => {
  const operations = Effect.fnUntraced(open)
  return Effect.fn(name)(function* (account: Account, mode: Mode): Effect.fn.Return<Adapter, never, Scope.Scope> {
    const transport = yield* remembering({ provider: name, mode }, yield* openTransport(name))
    const [of, buckets] = [yield* PaceOf, yield* PaceBuckets]
    if (of === null || buckets === null) return { name, mode, guarantees, ...(yield* operations(account, transport)) }
    yield* noneTurnedAway(of)
    const inPace = paced(transport, of, buckets)
    const moneyHeldMs = (country: string | null) => inPace.heldMs(accountPerCountry ? (country ?? "") : "")
    return { name, mode, guarantees, moneyHeldMs, ...(yield* operations(account, inPace)) }
  })
}

/** Wraps the transport: the result of each call is kept for the console. */
const remembering = Effect.fnUntraced(function* (
  account: { readonly provider: string; readonly mode: Mode },
  { call }: Transport
): Effect.fn.Return<Transport> {
  const [calls, clock] = [yield* RecentCalls, yield* Clock.Clock]
  const remember = (operation: string, response: ProviderResponse): void =>
    calls.record({ ...account, operation }, { at: clock.currentTimeMillisUnsafe(), failure: failureOf(response) })
  return {
    call: (one) =>
      Effect.map(call(one), (response) => {
        remember(one.operation, response)
        return response
      })
  }
})

const SERVER_ERROR = 500
/** These statuses refuse the gateway itself, not one payment. */
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
