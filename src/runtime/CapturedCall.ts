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

/** The calls of a read: how many left, and what came of those that were of no use. */
interface ReadCalls {
  calls: number
  readonly failures: Array<string>
}

const CallCount = Context.Reference<ReadCalls | null>("gateway/runtime/CallCount", { defaultValue: () => null })

/** Called for each call to a provider, before it leaves. */
export const noteCall: Effect.Effect<void> = Effect.map(CallCount, (count) => {
  if (count !== null) count.calls++
})

/** Called for each that was refused, or brought no answer; the text has nothing of what was sent. */
export const noteFailure = (failure: string): Effect.Effect<void> =>
  Effect.map(CallCount, (count) => {
    if (count !== null) count.failures.push(failure)
  })

/**
 * The answer of a read, how many calls to a provider it took (none where the adapter's answer is a table of the program), and what those came to that were of
 * no use.
 */
export const withCallCount = <A, E, R>(read: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const count: ReadCalls = { calls: 0, failures: [] }
    return Effect.map(Effect.provideService(read, CallCount, count), (answer) => ({ answer, ...count }))
  })
