import { Effect } from "effect"
import { RateLimited } from "../domain/errors/Retriable.ts"
import type { AppId } from "../domain/Ids.ts"

export type Kind = "money" | "reads" | "callbacks"

/** How many requests of a kind one process works on at once; callbacks of providers have as many places as reads. */
export interface RequestPlaces {
  readonly money: number
  readonly reads: number
}

/** One tenant takes at most this part of the places, so that others get in while its provider is slow. */
const SHARE_OF_ONE_TENANT = 0.5
/** A place is free again within a moment, unless everything is slow. */
const RETRY_AFTER_SECONDS = 1

/** Gives the place back; once. */
export type Leave = Effect.Effect<void>

/**
 * The places of this process. A request without one is shed before anything is claimed for it: there is no queue for places, because a
 * request that waits holds memory, and its client has gone when its turn comes. Money never takes a place from reads.
 */
export const makeUnderWay = ({ money, reads }: RequestPlaces) => {
  const places = { money, reads, callbacks: reads }
  const taken = { money: 0, reads: 0, callbacks: 0 }
  const ofTenant = new Map<string, number>()

  /** Null for who has no tenant: such a request shares with nobody. */
  return (kind: Kind, appId: AppId | null): Effect.Effect<Leave, RateLimited> =>
    Effect.suspend(() => {
      const name = appId === null ? null : `${kind}:${appId}`
      const own = name === null ? 0 : (ofTenant.get(name) ?? 0)
      const share = name === null ? places[kind] : Math.max(1, Math.floor(places[kind] * SHARE_OF_ONE_TENANT))
      if (taken[kind] >= places[kind] || own >= share)
        return Effect.fail(new RateLimited({ scope: "server", retry_after_seconds: RETRY_AFTER_SECONDS }))
      taken[kind] += 1
      if (name !== null) ofTenant.set(name, own + 1)
      return Effect.succeed(Effect.sync(() => left(kind, name)))
    })

  function left(kind: Kind, name: string | null): void {
    taken[kind] -= 1
    if (name === null) return
    const others = (ofTenant.get(name) ?? 1) - 1
    if (others === 0) ofTenant.delete(name)
    else ofTenant.set(name, others)
  }
}
