import { layer } from "@effect/vitest"
import type { KnownProvider } from "../../src/providers/ProviderModule.ts"
import { amounts } from "./ContractAmounts.ts"
import { ContractBench } from "./ContractBench.ts"
import { endings } from "./ContractEndings.ts"
import { faults } from "./ContractFaults.ts"
import type { Abilities } from "./ContractOrders.ts"
import { promised } from "./ContractPromises.ts"
import { reads } from "./ContractReads.ts"

/** What every adapter promises, held against its own simulator over HTTP. Nothing here knows any provider's wire. */
export const contract = (known: KnownProvider, abilities: Abilities) =>
  layer(ContractBench.layer(known), { excludeTestServices: true, concurrent: true })(`${known.name}:`, (it) => {
    endings(it, abilities)
    amounts(it, abilities)
    promised(it, abilities)
    reads(it, known, abilities)
    faults(it, abilities)
  })
