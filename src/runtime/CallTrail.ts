import { Context, Effect } from "effect"
import type { CallTime } from "../domain/CallTimes.ts"

/** More calls for one line of a history are not kept. */
const CALLS_AT_MOST = 16

/**
 * The calls to providers of a request or of a poll since its last line of a history, in the order in which they ended. They are kept in memory, and the next
 * line has them: that costs no statement. Null where nobody writes a line; nothing is noted then.
 */
export const CallTrail = Context.Reference<Array<CallTime> | null>("gateway/runtime/CallTrail", { defaultValue: () => null })

/** Called for each call that has ended. */
export const noteCallTime = (time: () => CallTime): Effect.Effect<void> =>
  Effect.map(CallTrail, (trail) => {
    if (trail !== null && trail.length < CALLS_AT_MOST) trail.push(time())
  })

/** Those since the last time: each belongs to one line. */
export const takeCallTimes: Effect.Effect<ReadonlyArray<CallTime>> = Effect.map(CallTrail, (trail) =>
  trail === null ? [] : trail.splice(0)
)

/** Work with a trail of its own. Its calls go on to the surrounding trail, however it ends. */
export const withOwnCalls = <A, E, R>(work: (calls: ReadonlyArray<CallTime>) => Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const calls: Array<CallTime> = []
    const passedOn = Effect.suspend(() => Effect.forEach(calls, (call) => noteCallTime(() => call), { discard: true }))
    return Effect.ensuring(Effect.provideService(work(calls), CallTrail, calls), passedOn)
  })
