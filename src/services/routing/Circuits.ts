import { Clock, Context, Effect, Exit, Layer, Metric, Ref } from "effect"
import * as CircuitBreaker from "../../domain/CircuitBreaker.ts"
import type { Mode } from "../../domain/Ids.ts"
import { Policy } from "../ports/Policy.ts"

/** What a provider is asked to do. Questions about what may have been sent are not among them: nothing ever stops those. */
export type Operation = "quote" | "send" | "charge" | "exchange" | "reads"

/** One operation of one account. */
export interface Line {
  readonly provider: string
  readonly mode: Mode
  readonly operation: Operation
}

/** How a call through a circuit is judged, and what stands in its place while the circuit is open. */
export interface Through<A, E> {
  readonly call: Effect.Effect<A, E>
  readonly hasFailed: (exit: Exit.Exit<A, E>) => boolean
  readonly instead: Effect.Effect<A, E>
}

const openCircuits = Metric.gauge("gateway_provider_circuit_open", {
  description: "1 while calls of this kind to this provider are held back, else 0."
})

/** The circuits of this process: other nodes find out for themselves. */
export class Circuits extends Context.Service<
  Circuits,
  {
    /** A call begun now would be held back. */
    readonly isOpen: (line: Line) => Effect.Effect<boolean>
    readonly through: <A, E>(line: Line, wish: Through<A, E>) => Effect.Effect<A, E>
  }
>()("gateway/services/Circuits") {
  static readonly layer = Layer.effect(
    Circuits,
    Effect.gen(function* () {
      const { circuit: policy } = yield* Policy
      const all = yield* Ref.make<ReadonlyMap<string, CircuitBreaker.Circuit>>(new Map())

      const changed = <A>(line: Line, change: (circuit: CircuitBreaker.Circuit) => readonly [A, CircuitBreaker.Circuit]) =>
        Ref.modify(all, (circuits) => {
          const name = nameOf(line)
          const before = circuits.get(name) ?? CircuitBreaker.closedCircuit
          const [answer, after] = change(before)
          const result = [answer, before, after] as const
          return [result, before === after ? circuits : new Map([...circuits, [name, after]])]
        })

      const begin = Effect.fnUntraced(function* (line: Line) {
        const now = yield* Clock.currentTimeMillis
        const [isLet, , after] = yield* changed(line, (circuit) => {
          const lets = CircuitBreaker.letsThrough(circuit, now)
          return [lets, lets ? CircuitBreaker.begun(circuit) : circuit]
        })
        return { isLet, isTrial: isLet && after._tag === "Trial" }
      })

      const end = Effect.fnUntraced(function* (line: Line, isTrial: boolean, how: CircuitBreaker.CallEnd) {
        const now = yield* Clock.currentTimeMillis
        const [, before, after] = yield* changed(line, (circuit) => [
          null,
          CircuitBreaker.ended(circuit, isTrial, how, policy, now)
        ])
        if (before._tag === "Closed" && after._tag === "Open") yield* logCircuit(line, 1)
        if (before._tag === "Trial" && after._tag === "Closed") yield* logCircuit(line, 0)
      })

      const through = <A, E>(line: Line, { call, hasFailed, instead }: Through<A, E>): Effect.Effect<A, E> =>
        Effect.uninterruptibleMask((restore) =>
          Effect.gen(function* () {
            const { isLet, isTrial } = yield* begin(line)
            if (!isLet) return yield* instead
            const exit = yield* Effect.exit(restore(call))
            yield* end(
              line,
              isTrial,
              hasFailed(exit) ? "failed" : Exit.isFailure(exit) && Exit.hasInterrupts(exit) ? "abandoned" : "answered"
            )
            return yield* exit
          })
        )

      const isOpen = Effect.fnUntraced(function* (line: Line) {
        const circuit = (yield* Ref.get(all)).get(nameOf(line))
        return circuit !== undefined && !CircuitBreaker.letsThrough(circuit, yield* Clock.currentTimeMillis)
      })

      return Circuits.of({ isOpen, through })
    })
  )
}

const nameOf = ({ mode, operation, provider }: Line): string => `${provider}:${mode}:${operation}`

const logCircuit = ({ mode, operation, provider }: Line, open: 0 | 1) =>
  Metric.update(Metric.withAttributes(openCircuits, { provider, mode, operation }), open).pipe(
    Effect.andThen(
      open === 1
        ? Effect.logWarning("a circuit opened: the provider fails, and is left alone for a while")
        : Effect.logInfo("a circuit closed: the provider answers again")
    ),
    Effect.annotateLogs({ provider, mode, operation })
  )
