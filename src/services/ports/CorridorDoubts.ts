import { Context, type Effect } from "effect"
import { corridorName } from "../../domain/ConfigurationChange.ts"
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

/** Why a tenant that is pinned to the provider would have nothing of the pin, or be refused in a corridor. */
export const pinDoubts = (rows: ReadonlyArray<Corridor>, provider: string, doubtsOf: DoubtsOf): ReadonlyArray<string> => {
  const named = openRowsOf(rows, provider)
  if (named.length === 0) return [notNamed(provider)]
  return named.flatMap((row) =>
    doubtsOf(row, provider).map((doubt) => `${corridorName(row).replaceAll("/", " ")} would not work for it: ${doubt}.`)
  )
}

/** The corridors in which a pin to the provider counts. */
export const openRowsOf = (rows: ReadonlyArray<Corridor>, provider: string): ReadonlyArray<Corridor> =>
  rows.filter((row) => row.active && row.providers.includes(provider))

export const notNamed = (provider: string): string => `no open corridor names ${provider}`
