import { clientOf, trustedBy } from "./ClientAddress.ts"

/** How many connections a process holds at once. */
export interface ConnectionSlots {
  readonly inAll: number
  /** Per client address. The connections of a trusted proxy belong to many clients and count only in `inAll`. */
  readonly anAddress: number
}

export type NoSlot = "in_all" | "an_address"

/** Releases the slot. Call it once. */
export type Release = () => void

/**
 * Limits open connections, in total and per client address. A connection without a slot is closed before any byte of it is
 * read, so that idle connections never use more sockets than there are slots.
 */
export const makeConnections = ({ anAddress, inAll }: ConnectionSlots, trustedProxies: ReadonlyArray<string>) => {
  const isTrusted = trustedBy(trustedProxies)
  const ofClient = new Map<string, number>()
  let taken = 0

  /** Takes a slot for a connection from this address. Returns how to release it, or why there is none. */
  return (address: string): NoSlot | Release => {
    const client = isTrusted(address) ? null : clientOf(address)
    const own = client === null ? 0 : (ofClient.get(client) ?? 0)
    if (taken >= inAll) return "in_all"
    if (own >= anAddress) return "an_address"
    taken += 1
    if (client !== null) ofClient.set(client, own + 1)
    return () => release(client)
  }

  function release(client: string | null): void {
    taken -= 1
    if (client === null) return
    const others = (ofClient.get(client) ?? 1) - 1
    if (others === 0) ofClient.delete(client)
    else ofClient.set(client, others)
  }
}
