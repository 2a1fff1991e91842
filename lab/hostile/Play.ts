import { Effect, Logger, type Scope } from "effect"
import type { KnownSimulator } from "../../src/simulator/SimulatorModule.ts"
import { abilitiesOf } from "../../test/providers/contract/Abilities.ts"
import { played } from "./Case.ts"
import { faultsOf } from "./Judge.ts"
import { openScene } from "./Wires.ts"

/** What a provider's cases came to. */
export interface Counts {
  readonly provider: string
  readonly cases: number
  /** Of those, in which money moved. */
  readonly moved: number
  readonly faults: ReadonlyArray<string>
  /** Of the cases, in which the mutation changed nothing that was said. */
  readonly vacuous: number
  /** What changed something at least once. */
  readonly bitten: ReadonlySet<string>
}

/** Plays so many cases of a provider, one after another; each seed is a case of its own. */
export const playedCases = Effect.fnUntraced(
  function* (known: KnownSimulator, first: number, cases: number): Effect.fn.Return<Counts, never, Scope.Scope> {
    const scene = yield* openScene(known, abilitiesOf(known.name))
    const faults: Array<string> = []
    const bitten = new Set<string>()
    let [moved, vacuous] = [0, 0]
    for (let seed = first; seed < first + cases; seed++) {
      const heard = yield* played(scene, seed)
      if (heard === null) continue
      if (heard.executions.length > 0) moved += 1
      if (heard.hasBitten) bitten.add(heard.mutation)
      else vacuous += 1
      faults.push(...faultsOf(heard).map((fault) => `${known.name} ${seed}, ${heard.name}: ${fault}`))
    }
    return { provider: known.name, cases, moved, faults, vacuous, bitten }
  },
  Effect.provide(Logger.layer([]))
)
