import { isIPv6 } from "node:net"
import { plain, trustedBy } from "./ClientAddress.ts"

/** How many connections one process holds at once. */
export interface ConnectionPlaces {
  readonly inAll: number
  /** Of one client address; a trusted proxy's connections are those of many clients and count in all only. */
  readonly anAddress: number
}

export type NoPlace = "in_all" | "an_address"

/** Gives the connection's place back; once. */
export type Leave = () => void

/**
 * The places for connections. One without a place is closed before a byte of it is read: whoever holds connections open and asks
 * nothing costs a socket each, and no more than there are places.
 */
export const makeConnections = ({ anAddress, inAll }: ConnectionPlaces, trustedProxies: ReadonlyArray<string>) => {
  const isTrusted = trustedBy(trustedProxies)
  const ofClient = new Map<string, number>()
  let taken = 0

  /** Why there is no place, or how to give it back. */
  return (address: string): NoPlace | Leave => {
    const client = isTrusted(address) ? null : clientOf(address)
    const own = client === null ? 0 : (ofClient.get(client) ?? 0)
    if (taken >= inAll) return "in_all"
    if (own >= anAddress) return "an_address"
    taken += 1
    if (client !== null) ofClient.set(client, own + 1)
    return () => left(client)
  }

  function left(client: string | null): void {
    taken -= 1
    if (client === null) return
    const others = (ofClient.get(client) ?? 1) - 1
    if (others === 0) ofClient.delete(client)
    else ofClient.set(client, others)
  }
}

/** One client has a whole /64 of IPv6: the first four of its eight groups. */
export const clientOf = (address: string): string => {
  const own = plain(address)
  if (!isIPv6(own)) return own
  const [head = "", tail] = own.split("::")
  const before = head === "" ? [] : head.split(":")
  const after = tail === undefined || tail === "" ? [] : tail.split(":")
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, GROUPS - before.length - after.length)).fill("0")
  return [...before, ...zeros, ...after].slice(0, GROUPS / 2).join(":")
}

const GROUPS = 8
