import { Context, type Effect } from "effect"
import { corridorName } from "../../domain/ConfigurationChange.ts"
import type { Corridor } from "../../domain/Corridor.ts"
import type { Instant } from "../../domain/Instant.ts"

/** The reasons why a provider would be skipped for every payment of a corridor, one sentence each; empty when there is none. */
export type DoubtsOf = (row: Corridor, provider: string) => ReadonlyArray<string>

/** Whether providers can serve corridors, by their accounts and contract fees here. It calls none and refuses nothing. */
export class CorridorDoubts extends Context.Service<
  CorridorDoubts,
  {
    /** The state at one time, because contract fees begin and end, for any number of rows, even a proposed one. */
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
