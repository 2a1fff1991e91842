import { clientOf, trustedBy } from "./ClientAddress.ts"

/** How many connections one process holds at once. */
export interface ConnectionSlots {
  readonly inAll: number
  /** Of one client address; a trusted proxy's connections are those of many clients and count in all only. */
  readonly anAddress: number
}

export type NoSlot = "in_all" | "an_address"

/** Gives the connection's slot back. Called once. */
export type Release = () => void

/**
 * Limits the connections that are open at once, in all and for each client address. A connection without a slot is closed before a
 * byte of it is read, so that a client that holds connections open and asks nothing costs no more sockets than there are slots.
 */
export const makeConnections = ({ anAddress, inAll }: ConnectionSlots, trustedProxies: ReadonlyArray<string>) => {
  const isTrusted = trustedBy(trustedProxies)
  const ofClient = new Map<string, number>()
  let taken = 0

  /** Gives the reason where there is no slot for a connection from this address, and how to release its slot where there is one. */
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
