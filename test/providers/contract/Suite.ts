import { layer } from "@effect/vitest"
import { Layer, Logger } from "effect"
import type { KnownSimulator } from "../../../src/simulator/SimulatorModule.ts"
import { amounts } from "./Amounts.ts"
import { endings } from "./Endings.ts"
import { exchanges } from "./Exchanges.ts"
import { faults } from "./Faults.ts"
import { ContractBench } from "./Fixture.ts"
import type { Abilities } from "./Orders.ts"
import { promised } from "./Promises.ts"
import { reads } from "./Reads.ts"

/** What every adapter promises, held against its own simulator over HTTP. Nothing here knows any provider's wire. */
export const contract = (known: KnownSimulator, abilities: Abilities) =>
  // What an adapter logs is looked at where it says too much, and nowhere printed.
  layer(Layer.merge(ContractBench.layer(known), Logger.layer([])), { excludeTestServices: true, concurrent: true })(
    `${known.name}:`,
    (it) => {
      endings(it, abilities)
      amounts(it, abilities)
      promised(it, abilities)
      reads(it, known, abilities)
      exchanges(it, abilities)
      faults(it, abilities)
    }
  )
