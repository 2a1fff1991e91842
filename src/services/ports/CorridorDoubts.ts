import { Context, type Effect } from "effect"
import type { Corridor } from "../../domain/Corridor.ts"
import type { Instant } from "../../domain/Instant.ts"

/** Why a provider would be passed over for every payment of a corridor: a sentence each; none where nothing speaks against it. */
export type DoubtsOf = (row: Corridor, provider: string) => ReadonlyArray<string>

/**
 * Whether providers are able to serve corridors, by the settings that this process has: their accounts, and the fees of their contracts. Nothing is asked of a
 * provider, and nothing is refused by it.
 */
export class CorridorDoubts extends Context.Service<
  CorridorDoubts,
  {
    /** As of a moment: fees begin and end. The answer is for any number of rows, also for one that is only wished for. */
    readonly read: (at: Instant) => Effect.Effect<DoubtsOf>
  }
>()("gateway/services/ports/CorridorDoubts") {}
