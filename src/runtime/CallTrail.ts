import { Context, Effect } from "effect"
import type { CallTime } from "../domain/CallTimes.ts"

/** The most calls that one line of a history stores. */
const CALLS_AT_MOST = 16

/**
 * The provider calls of a request or of a poll since its last history line, in the order in which they ended. They are kept in
 * memory and written with the next line, which costs no extra statement. Null where no line will be written; nothing is
 * recorded then.
 */
export const CallTrail = Context.Reference<Array<CallTime> | null>("gateway/runtime/CallTrail", { defaultValue: () => null })

/** Called for each call that has ended. */
export const noteCallTime = (time: () => CallTime): Effect.Effect<void> => Effect.map(CallTrail, (trail) => add(trail, time))

const add = (trail: Array<CallTime> | null, time: () => CallTime): void => {
  if (trail !== null && trail.length < CALLS_AT_MOST) trail.push(time())
}

/** The calls since the last time: each belongs to one line. */
export const takeCallTimes: Effect.Effect<ReadonlyArray<CallTime>> = Effect.map(CallTrail, (trail) =>
  trail === null ? [] : trail.splice(0)
)

/** Runs work with a trail of its own. Afterwards its calls are added to the surrounding trail, however the work ends. */
export const withOwnCalls = <A, E, R>(work: (calls: ReadonlyArray<CallTime>) => Effect.Effect<A, E, R>) =>
  Effect.flatMap(CallTrail, (around) => {
    const calls: Array<CallTime> = []
    const passedOn = Effect.sync(() => {
      for (const call of calls) add(around, () => call)
    })
    return Effect.ensuring(Effect.provideService(work(calls), CallTrail, calls), passedOn)
  })
