import { BlockList, isIP, isIPv6 } from "node:net"

/**
 * The address that a request came from: the peer's or, when the peer is one of `trustedProxies` (addresses or networks), the
 * last address in `X-Forwarded-For` that is not one of them. Entries that the client itself sent stand before that one and are
 * ignored.
 */
export const clientAddress = (trustedProxies: ReadonlyArray<string>) => {
  const isTrusted = trustedBy(trustedProxies)
  return (peer: string, forwardedFor: ReadonlyArray<string>): string => {
    let client = plain(peer)
    const hops = forwardedFor.flatMap((value) => value.split(",")).map((hop) => plain(hop.trim()))
    while (isTrusted(client)) {
      const next = hops.pop()
      if (next === undefined || isIP(next) === 0) return client
      client = next
    }
    return client
  }
}

/** Whether an address is one of the trusted proxies. */
export const trustedBy = (trustedProxies: ReadonlyArray<string>): ((address: string) => boolean) => {
  const trusted = new BlockList()
  for (const network of trustedProxies) {
    const [address = "", length] = network.split("/")
    if (length === undefined) trusted.addAddress(address, family(address))
    else trusted.addSubnet(address, Number(length), family(address))
  }
  return (address) => isIP(plain(address)) !== 0 && trusted.check(plain(address), family(plain(address)))
}

/** Identifies a client: an IPv4 address, or the /64 of an IPv6 address, its first four groups. */
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

const family = (address: string) => (isIP(address) === 6 ? "ipv6" : "ipv4")

/** A dual-stack socket shows an IPv4 address as an IPv4-mapped IPv6 address. */
const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, "")
