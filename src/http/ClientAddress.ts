import { BlockList, isIP } from "node:net"

/**
 * Whose request it is: the peer's address or, where the peer is one of `trustedProxies` (addresses or networks), the last address in
 * `X-Forwarded-For` that is none of them. What a client writes there by itself stands before that and is not looked at.
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

const family = (address: string) => (isIP(address) === 6 ? "ipv6" : "ipv4")

/** A socket that takes both families shows IPv4 inside IPv6. */
export const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, "")
