import { Effect } from "effect"
import { RateLimited } from "../domain/errors/Retriable.ts"

export type Kind = "money" | "reads" | "callbacks" | "unsigned"

/** How many requests of a kind one process works on at once; callbacks of providers, and what nobody signs, have as many places as reads. */
export interface RequestPlaces {
  readonly money: number
  readonly reads: number
}

/** This part of the places is kept for those that hold few. */
const KEPT_FOR_FEW = 0.25
/** Who holds less than this part of the places holds few; one is always few. */
const FEW = 1 / 64
/** A place is free again within a moment, unless everything is slow. */
const RETRY_AFTER_SECONDS = 1

/** Gives the place back; once. */
export type Leave = () => void

/**
 * The places of this process. A request without one is shed before anything is claimed for it: there is no queue for places, because a
 * request that waits holds memory, and its client has gone when its turn comes. Money never takes a place from reads.
 *
 * A tenant takes a place while it holds fewer than are free, those that are kept apart not counted: alone it gets three of eight, two get
 * a quarter each, and the more of them want places the fewer each gets, by itself. Those that are kept apart are for who holds few, so
 * that any number of tenants that hold many leaves room for the others. Providers share the places for callbacks in the same way,
 * and client addresses those for what nobody signs.
 */
export const makeConcurrencyLimit = ({ money, reads }: RequestPlaces) => {
  const places = { money, reads, callbacks: reads, unsigned: reads }
  const taken = { money: 0, reads: 0, callbacks: 0, unsigned: 0 }
  const held = new Map<string, number>()

  /** `holder` is the tenant, the provider of a callback, or the address of a client that signs nothing. */
  return (kind: Kind, holder: string): Effect.Effect<Leave, RateLimited> =>
    Effect.suspend(() => {
      const name = `${kind}:${holder}`
      const own = held.get(name) ?? 0
      const free = places[kind] - taken[kind]
      const few = Math.max(1, Math.floor(places[kind] * FEW))
      const share = own < few ? free : free - Math.floor(places[kind] * KEPT_FOR_FEW) - own
      if (share <= 0) return Effect.fail(new RateLimited({ scope: "server", retry_after_seconds: RETRY_AFTER_SECONDS }))
      taken[kind] += 1
      held.set(name, own + 1)
      return Effect.succeed(() => left(kind, name))
    })

  function left(kind: Kind, name: string): void {
    taken[kind] -= 1
    const others = (held.get(name) ?? 1) - 1
    if (others === 0) held.delete(name)
    else held.set(name, others)
  }
}
