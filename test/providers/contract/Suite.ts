import { layer } from "@effect/vitest"
import { Clock, Layer, Logger } from "effect"
import type { KnownSimulator } from "../../../src/simulator/SimulatorModule.ts"
import { patientClock } from "../../support/PatientClock.ts"
import { amounts } from "./Amounts.ts"
import { endings } from "./Endings.ts"
import { exchanges } from "./Exchanges.ts"
import { faults } from "./Faults.ts"
import { ContractBench } from "./Fixture.ts"
import type { Abilities } from "./Orders.ts"
import { promised } from "./Promises.ts"
import { reads } from "./Reads.ts"

/** What every adapter promises, held against its own simulator over HTTP. Nothing here knows any provider's wire. */
export const contract = (known: KnownSimulator, abilities: Abilities) => {
  const patient = Layer.succeed(Clock.Clock, patientClock)
  // What an adapter logs is looked at where it says too much, and nowhere printed.
  const bench = Layer.merge(Layer.provideMerge(ContractBench.layer(known), patient), Logger.layer([]))
  layer(bench, { excludeTestServices: true, concurrent: true })(`${known.name}:`, (it) => {
    endings(it, abilities)
    amounts(it, abilities)
    promised(it, abilities)
    reads(it, known, abilities)
    exchanges(it, abilities)
    faults(it, abilities)
  })
}
