import { Context, Effect, Ref } from "effect"

/** One money call as it was sent and answered, masked and bounded; `response` is null where no whole answer came. */
export interface RawExchange {
  readonly request: string
  readonly response: string | null
}

/** Where an adapter leaves what it sent and received; null while nobody keeps it. */
export const ProviderTrail = Context.Reference<Ref.Ref<RawExchange | null> | null>("gateway/services/ports/ProviderTrail", {
  defaultValue: () => null
})

/** Leaves one exchange on the trail of the money call that is under way; a later one takes its place. Outside of one nothing is kept, or masked. */
export const leaveTrail = (masked: () => RawExchange): Effect.Effect<void> =>
  Effect.flatMap(ProviderTrail, (trail) => (trail === null ? Effect.void : Ref.set(trail, masked())))

/** What a money call answers, and what was sent and received for it: null when nothing left the process. */
export const withTrail = <A, E, R>(call: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const trail = yield* Ref.make<RawExchange | null>(null)
    const outcome = yield* Effect.provideService(call, ProviderTrail, trail)
    return { outcome, raw: yield* Ref.get(trail) }
  })
