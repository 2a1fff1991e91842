import { Context, Effect } from "effect"

/** A provider call that moves money, masked and bounded. `response` is null where no complete response arrived. */
export interface CapturedCall {
  readonly request: string
  readonly response: string | null
}

/** The slot into which an adapter puts its call; null outside of `withCapturedCall`. */
const CaptureSlot = Context.Reference<{ call: CapturedCall | null } | null>("gateway/runtime/CaptureSlot", {
  defaultValue: () => null
})

/** Stores a call for the surrounding `withCapturedCall`; a later one replaces it. Outside of one, nothing is masked or stored. */
export const captureCall = (masked: () => CapturedCall): Effect.Effect<void> =>
  Effect.map(CaptureSlot, (slot) => {
    if (slot !== null) slot.call = masked()
  })

/** The answer of a money call, and the last provider call made for it; `raw` is null when nothing left the process. */
export const withCapturedCall = <A, E, R>(call: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const slot: { call: CapturedCall | null } = { call: null }
    return Effect.map(Effect.provideService(call, CaptureSlot, slot), (outcome) => ({ outcome, raw: slot.call }))
  })

/** The provider calls of a read: how many were made, and the failures among them. */
interface ReadCalls {
  calls: number
  readonly failures: Array<string>
}

const CallCount = Context.Reference<ReadCalls | null>("gateway/runtime/CallCount", { defaultValue: () => null })

/** Called for each call to a provider, before it is sent. */
export const noteCall: Effect.Effect<void> = Effect.map(CallCount, (count) => {
  if (count !== null) count.calls++
})

/** Called for each call that was refused or got no answer; the text contains nothing of the request. */
export const noteFailure = (failure: string): Effect.Effect<void> =>
  Effect.map(CallCount, (count) => {
    if (count !== null) count.failures.push(failure)
  })

/** A read's answer, its number of provider calls (none where a table in the program answers), and the failures among them. */
export const withCallCount = <A, E, R>(read: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const count: ReadCalls = { calls: 0, failures: [] }
    return Effect.map(Effect.provideService(read, CallCount, count), (answer) => ({ answer, ...count }))
  })
