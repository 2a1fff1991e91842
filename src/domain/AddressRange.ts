import { BlockList, isIP } from "node:net"
import { Schema } from "effect"

/** The most networks that one key may be restricted to. */
export const MAX_ADDRESS_RANGES = 20

/** An IP address, or a CIDR network: its first address and prefix length. An IPv4 address inside an IPv6 one is refused. */
export const AddressRange = Schema.String.check(Schema.makeFilter((text: string) => addressRangeFault(text) ?? true))

/** Whether an address lies in one of the ranges, each an `AddressRange`. False for a text that is no address. */
export const isInRanges = (ranges: ReadonlyArray<string>, address: string): boolean => {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "")
  const version = isIP(plain)
  // Ranges of the other family are left out, because node:net would also look for an IPv4 address in an IPv6 network.
  return version !== 0 && listOf(ranges.filter((range) => versionOf(range) === version)).check(plain, family(version))
}

const LENGTHS: Readonly<Record<number, number>> = { 4: 32, 6: 128 }

/** The fault of a text that is meant to be an `AddressRange`; undefined where it is one. */
export const addressRangeFault = (text: string): string | undefined => {
  const [address = "", length, ...more] = text.split("/")
  const version = isIP(address)
  const longest = LENGTHS[version]
  if (longest === undefined || more.length > 0 || address.includes("%"))
    return "is an IP address, or a network such as 10.0.0.0/8"
  if (version === 6 && /^0{80}1{16}/.test(bitsOf(address)))
    return "is written as IPv4, such as 10.0.0.0/8, and not inside an IPv6 address"
  if (length === undefined) return undefined
  if (!/^(0|[1-9]\d{0,2})$/.test(length) || Number(length) > longest) return `has a prefix of 1 to ${longest} bits`
  if (length === "0") return "holds every address, and so is no limit"
  const isFirst = !bitsOf(address).slice(Number(length)).includes("1")
  return isFirst ? undefined : "begins with the first address of its network: 10.0.0.0/8, and not 10.0.0.1/8"
}

const bitsOf = (address: string): string => {
  if (isIP(address) === 4) return binary(address.split(".").map(Number), 8)
  // The URL parser writes each IPv6 address in one canonical form.
  const host = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [head = "", tail] = host.split("::")
  const [before, after] = [head, tail ?? ""].map((part) =>
    part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16))
  )
  const zeros = Array<number>(tail === undefined ? 0 : GROUPS - (before?.length ?? 0) - (after?.length ?? 0)).fill(0)
  return binary([...(before ?? []), ...zeros, ...(after ?? [])], 16)
}

const GROUPS = 8

const binary = (parts: ReadonlyArray<number>, width: number): string =>
  parts.map((part) => part.toString(2).padStart(width, "0")).join("")

const listOf = (ranges: ReadonlyArray<string>): BlockList => {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = "", length] = range.split("/")
    if (length === undefined) list.addAddress(address, family(isIP(address)))
    else list.addSubnet(address, Number(length), family(isIP(address)))
  }
  return list
}

const versionOf = (range: string): number => isIP(range.split("/")[0] ?? "")

const family = (version: number) => (version === 6 ? "ipv6" : "ipv4")
