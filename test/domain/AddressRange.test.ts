import { Schema } from "effect"
import { expect, it } from "vitest"
import { AddressRange, isInRanges } from "../../src/domain/AddressRange.ts"

const faultOf = (text: string) => {
  const read = Schema.decodeUnknownExit(AddressRange)(text)
  return read._tag === "Success" ? "" : String(read.cause)
}

it("an address or a network is read, of both versions of the protocol", () => {
  for (const text of [
    "10.0.0.0/8",
    "192.0.2.7",
    "192.0.2.7/32",
    "2001:db8::/32",
    "2001:db8::1",
    "fd00::/8",
    "128.0.0.0/1",
    "::1"
  ])
    expect([text, faultOf(text)]).toStrictEqual([text, ""])
})

it("anything else is refused, and says what it must be", () => {
  for (const [text, fault] of [
    ["", "an IP address, or a network"],
    ["10.0.0/8", "an IP address, or a network"],
    ["10.0.0.0/8/8", "an IP address, or a network"],
    ["office", "an IP address, or a network"],
    ["fe80::1%eth0", "an IP address, or a network"],
    ["10.0.0.0/33", "a prefix of 1 to 32 bits"],
    ["10.0.0.0/", "a prefix of 1 to 32 bits"],
    ["10.0.0.0/08", "a prefix of 1 to 32 bits"],
    ["2001:db8::/129", "a prefix of 1 to 128 bits"],
    ["0.0.0.0/0", "no limit"],
    ["::/0", "no limit"],
    ["10.0.0.1/8", "the first address of its network"],
    ["2001:db8::1/64", "the first address of its network"],
    ["::ffff:10.0.0.0/104", "written as IPv4"],
    ["0:0:0:0:0:FFFF:a00:0/104", "written as IPv4"]
  ] as const)
    expect([text, faultOf(text)]).toStrictEqual([text, expect.stringContaining(fault)])
})

it("an address lies in a network of its own version only, and an IPv4 address that a socket shows as IPv6 is the IPv4 one", () => {
  const ranges = ["10.0.0.0/8", "192.0.2.7", "2001:db8::/32", "::/1"]
  const inside = ["10.0.0.0", "10.255.255.255", "::ffff:10.0.0.1", "192.0.2.7", "2001:db8::5", "::a00:1"]
  const outside = ["9.255.255.255", "11.0.0.0", "192.0.2.8", "::ffff:192.0.2.8", "8000::1", "", "unix", "10.0.0.1, 9.9.9.9"]
  expect([...inside, ...outside].filter((address) => isInRanges(ranges, address))).toStrictEqual(inside)
  expect(isInRanges([], "10.0.0.1")).toBe(false)
})
