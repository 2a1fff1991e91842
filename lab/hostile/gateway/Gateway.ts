import { Effect } from "effect"
import type { NodeServices } from "../../simulation/NodeServices.ts"

const ITEMS_AT_MOST = 1_000

/** The services of the gateway that is played, and its one process, which runs what is asked of it. */
export interface Gateway {
  readonly services: NodeServices
  readonly work: <A>(work: Effect.Effect<A>, heard?: (answer: A) => void) => Effect.Effect<void>
}

/** Until nothing is due. */
export const rounds = (work: Gateway["work"], round: Effect.Effect<number>): Effect.Effect<void> =>
  Effect.gen(function* () {
    let done = 1
    for (let item = 0; item < ITEMS_AT_MOST && done > 0; item++) {
      done = 0
      yield* work(round, (count) => void (done = count))
    }
  })
