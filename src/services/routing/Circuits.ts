import { Context, Effect, Exit, Layer } from "effect"
import { ActingTenant } from "../../runtime/ActingTenant.ts"
import { withTurn } from "../../runtime/CallTurn.ts"
import { type CallVerdict, type CircuitKey, CircuitStates, type HeldBack } from "../ports/CircuitStates.ts"

/** How a call through a circuit is judged, and what stands in its place while the circuit is open. */
export interface CircuitCall<A, E> {
  readonly call: Effect.Effect<A, E>
  readonly verdict: (exit: Exit.Exit<A, E>) => CallVerdict
  readonly instead: Effect.Effect<A, E>
}

/** The circuits that calls to providers go through, for the tenant whose request this is. */
export class Circuits extends Context.Service<
  Circuits,
  {
    /** A call begun now, for the tenant whose request this is, would be held back. */
    readonly isOpen: (line: CircuitKey) => Effect.Effect<boolean>
    /** Whose calls are held back, or wait for one that is let through as a trial. */
    readonly standing: (line: CircuitKey) => Effect.Effect<HeldBack>
    readonly through: <A, E>(line: CircuitKey, wish: CircuitCall<A, E>) => Effect.Effect<A, E>
  }
>()("gateway/services/Circuits") {
  static readonly layer = Layer.effect(
    Circuits,
    Effect.gen(function* () {
      const states = yield* CircuitStates

      const through = <A, E>(line: CircuitKey, { call, instead, verdict }: CircuitCall<A, E>): Effect.Effect<A, E> =>
        Effect.uninterruptibleMask((restore) =>
          Effect.gen(function* () {
            const end = yield* states.begin(line, yield* ActingTenant)
            if (end === null) return yield* instead
            const ended = yield* Effect.exit(restore(withTurn(call, true)))
            const { away, exit } = Exit.isSuccess(ended) ? ended.value : { away: null, exit: Exit.failCause(ended.cause) }
            const isAbandoned = Exit.isFailure(exit) && Exit.hasInterrupts(exit)
            const said = verdict(exit)
            // A call that was turned away says that the provider is busy, which is no failure of it, nor an end of one.
            yield* end(
              away !== null && said !== "answered" ? "abandoned" : said === "answered" && isAbandoned ? "abandoned" : said
            )
            return yield* exit
          })
        )

      return Circuits.of({
        isOpen: (line) => Effect.flatMap(ActingTenant, (tenant) => states.isOpen(line, tenant)),
        standing: states.standing,
        through
      })
    })
  )
}
