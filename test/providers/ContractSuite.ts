import { layer } from "@effect/vitest"
import { Layer, Logger } from "effect"
import type { KnownSimulator } from "../../src/simulator/SimulatorModule.ts"
import { amounts } from "./ContractAmounts.ts"
import { ContractBench } from "./ContractBench.ts"
import { endings } from "./ContractEndings.ts"
import { exchanges } from "./ContractExchanges.ts"
import { faults } from "./ContractFaults.ts"
import type { Abilities } from "./ContractOrders.ts"
import { promised } from "./ContractPromises.ts"
import { reads } from "./ContractReads.ts"

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
