import { Context, type Effect } from "effect"
import { corridorName } from "../../domain/ConfigurationChange.ts"
import type { Corridor } from "../../domain/Corridor.ts"
import type { Instant } from "../../domain/Instant.ts"

/** The reasons why a provider would be skipped for every payment of a corridor, one sentence each; empty when there is none. */
export type DoubtsOf = (row: Corridor, provider: string) => ReadonlyArray<string>

/**
 * Checks whether providers can serve corridors, from this process's settings: their accounts and contract fees. It calls no
 * provider and refuses nothing.
 */
export class CorridorDoubts extends Context.Service<
  CorridorDoubts,
  {
    /**
     * The state at one time, because contract fees begin and end. The result can be applied to any number of rows, including
     * one that is only proposed.
     */
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
