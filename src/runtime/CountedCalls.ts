import { Context, Effect } from "effect"

const CallCount = Context.Reference<{ calls: number } | null>("gateway/runtime/CallCount", { defaultValue: () => null })

/** Called for each call to a provider, before it leaves. */
export const countCall: Effect.Effect<void> = Effect.map(CallCount, (count) => {
  if (count !== null) count.calls++
})

/** The answer of a read, and how many calls to a provider it took: none where the adapter's answer is a table of the program. */
export const withCallCount = <A, E, R>(read: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const count = { calls: 0 }
    return Effect.map(Effect.provideService(read, CallCount, count), (answer) => ({ answer, calls: count.calls }))
  })
