import { Context, Effect, Ref } from "effect"

/** A provider call that moves money, as it was sent and answered, masked and bounded. `response` is null where no whole answer came. */
export interface CapturedCall {
  readonly request: string
  readonly response: string | null
}

/** The slot in which an adapter leaves its call; null outside of `withCapturedCall`. */
const CaptureSlot = Context.Reference<Ref.Ref<CapturedCall | null> | null>("gateway/runtime/CaptureSlot", {
  defaultValue: () => null
})

/** Keeps a call for the surrounding `withCapturedCall`; a later one replaces it. Outside of one, the call is neither masked nor kept. */
export const captureCall = (masked: () => CapturedCall): Effect.Effect<void> =>
  Effect.flatMap(CaptureSlot, (slot) => (slot === null ? Effect.void : Ref.set(slot, masked())))

/** The answer of a money call, and the last provider call made for it; `raw` is null when nothing left the process. */
export const withCapturedCall = <A, E, R>(call: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const slot = yield* Ref.make<CapturedCall | null>(null)
    const outcome = yield* Effect.provideService(call, CaptureSlot, slot)
    return { outcome, raw: yield* Ref.get(slot) }
  })

const CallCount = Context.Reference<{ calls: number } | null>("gateway/runtime/CallCount", { defaultValue: () => null })

/** Called for each call to a provider, before it leaves. */
export const noteCall: Effect.Effect<void> = Effect.map(CallCount, (count) => {
  if (count !== null) count.calls++
})

/** The answer of a read, and how many calls to a provider it took: none where the adapter's answer is a table of the program. */
export const withCallCount = <A, E, R>(read: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const count = { calls: 0 }
    return Effect.map(Effect.provideService(read, CallCount, count), (answer) => ({ answer, calls: count.calls }))
  })
