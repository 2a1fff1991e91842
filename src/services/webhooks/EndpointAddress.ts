import { BlockList, isIP } from "node:net"

/** The longest URL that a tenant may set. */
const MAXIMUM_URL_LENGTH = 2048
const LOOPBACK_ONLY = "http is for loopback addresses only"

/** Why events may not be sent to this URL; undefined when they may. Host names are resolved and checked per connection. */
export const endpointUrlProblem = (url: string, allowLoopback: boolean): string | undefined => {
  if (url.length > MAXIMUM_URL_LENGTH) return `the URL is longer than ${MAXIMUM_URL_LENGTH} characters`
  if (!URL.canParse(url)) return "this is not a URL"
  const { hostname, password, protocol, username } = new URL(url)
  if (protocol !== "https:" && !(protocol === "http:" && allowLoopback)) return "the URL must begin with https://"
  if (username !== "" || password !== "") return "the URL must not carry credentials"
  const host = unbracketed(hostname)
  if (isIP(host) !== 0) {
    // Without the address itself: a refusal never repeats the refused value.
    if (addressProblem(host, protocol, allowLoopback) === undefined) return undefined
    return protocol === "http:" ? LOOPBACK_ONLY : "the URL must name a public address"
  }
  if (isLoopbackName(host)) return allowLoopback ? undefined : "the URL must not name this machine"
  return protocol === "http:" ? LOOPBACK_ONLY : undefined
}

/** Why connecting to this numeric address is forbidden; undefined when it is allowed. */
export const addressProblem = (address: string, protocol: string, allowLoopback: boolean): string | undefined => {
  if (allowLoopback && isLoopback(address)) return undefined
  if (protocol !== "https:") return LOOPBACK_ONLY
  return isPublic(address) ? undefined : `${address} is not a public address`
}

/** As `net` expects it: IPv6 without brackets. */
export const unbracketed = (hostname: string): string =>
  hostname.startsWith("[") && hostname.endsWith("]") ? hostname.slice(1, -1) : hostname

export const isLoopback = (address: string): boolean => isIn(loopback, address)

const isPublic = (address: string): boolean =>
  isIP(address) === 4 ? !isIn(reserved4, address) : isIn(global6, address) && !isIn(reserved6, address)

const isIn = (list: BlockList, address: string): boolean => {
  const family = isIP(address)
  return family !== 0 && list.check(address, family === 4 ? "ipv4" : "ipv6")
}

const isLoopbackName = (host: string): boolean => /(^|\.)localhost\.?$/.test(host)

const subnets = (family: "ipv4" | "ipv6", list: ReadonlyArray<readonly [network: string, prefix: number]>): BlockList => {
  const blocks = new BlockList()
  for (const [network, prefix] of list) blocks.addSubnet(network, prefix, family)
  return blocks
}

const loopback = subnets("ipv4", [["127.0.0.0", 8]])
loopback.addAddress("::1", "ipv6")

// The IANA special-purpose registry for IPv4: everything that is not the public internet.
const reserved4 = subnets("ipv4", [
  ["0.0.0.0", 8], // this network, "unspecified"
  ["10.0.0.0", 8], // private
  ["100.64.0.0", 10], // carrier-grade NAT
  ["127.0.0.0", 8], // loopback
  ["169.254.0.0", 16], // link-local, where clouds keep their metadata
  ["172.16.0.0", 12], // private
  ["192.0.0.0", 24], // protocol assignments
  ["192.0.2.0", 24], // documentation
  ["192.88.99.0", 24], // 6to4 relays
  ["192.168.0.0", 16], // private
  ["198.18.0.0", 15], // benchmarks
  ["198.51.100.0", 24], // documentation
  ["203.0.113.0", 24], // documentation
  ["224.0.0.0", 4], // multicast
  ["240.0.0.0", 4] // reserved and broadcast
])

// IPv6 the other way round: only global unicast can be public, so that all other kinds are refused without being listed.
const global6 = subnets("ipv6", [["2000::", 3]])
const reserved6 = subnets("ipv6", [
  ["2001::", 23], // protocol assignments, Teredo among them
  ["2001:db8::", 32], // documentation
  ["2002::", 16], // 6to4, which carries any IPv4 address
  ["3fff::", 20] // documentation
])
