import { Context, Effect } from "effect"

const CallCount = Context.Reference<{ calls: number } | null>("gateway/runtime/CallCount", { defaultValue: () => null })

/** Called for each call to a provider, before it leaves. */
export const countCall: Effect.Effect<void> = Effect.map(CallCount, (count) => {
  if (count !== null) count.calls++
})

/** What was read, and whether anybody was asked for it: some of what a provider's adapter answers is a table of the program's own. */
export const withCallsCounted = <A, E, R>(read: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const count = { calls: 0 }
    return Effect.map(Effect.provideService(read, CallCount, count), (answer) => ({ answer, isAsked: count.calls > 0 }))
  })
