import { Effect, Option } from "effect"
import type { CircuitKey, CircuitStates } from "../services/ports/CircuitStates.ts"
import { nameOf } from "../services/routing/CircuitsHere.ts"
import { type Answering, answering, type Conversation } from "./Conversation.ts"
import { ofPrimary, ofWorkers } from "./Questions.ts"

/**
 * The circuits of a machine, as a worker sees them: the primary process has their states. It says on which lines a call has failed since the
 * last that was answered. On the others, which is nearly always all of them, a call is let through without asking. Where the primary does not
 * answer it is let through, too: a circuit saves time, and decides nothing about money.
 */
export const makeSharedCircuits = () => {
  const touched = new Set<string>()
  let last = 0

  const heard: Answering = answering(ofPrimary.lines, (lines) =>
    Effect.sync(() => {
      for (const { isUntouched, line } of lines) {
        if (isUntouched) touched.delete(nameOf(line))
        else touched.add(nameOf(line))
      }
      return null
    })
  )

  const statesOf = ({ ask }: Pick<Conversation, "ask">): CircuitStates["Service"] => {
    const isTouched = (line: CircuitKey) => Effect.sync(() => touched.has(nameOf(line)))
    return {
      begin: (line, tenant) =>
        Effect.gen(function* () {
          // Its end is told by the same number, also where the answer did not come in time: the primary may have made it the circuit's trial.
          const call = (yield* isTouched(line)) ? ++last : null
          const mayBegin = call === null ? Option.none() : yield* ask(ofWorkers.beginCall, { line, tenant, call })
          if (Option.contains(mayBegin, false)) return null
          return (verdict) =>
            Effect.gen(function* () {
              if (call === null && verdict === "answered" && !(yield* isTouched(line))) return
              yield* ask(ofWorkers.endCall, { line, tenant, verdict, call })
            })
        }),
      isOpen: (line, tenant) =>
        Effect.gen(function* () {
          if (!(yield* isTouched(line))) return false
          return Option.getOrElse(yield* ask(ofWorkers.isOpen, { line, tenant }), () => false)
        }),
      standing: (line) =>
        Effect.map(
          ask(ofWorkers.standing, line),
          Option.getOrElse(() => ({ all: false, tenants: [] }))
        )
    }
  }

  return { heard, statesOf }
}
