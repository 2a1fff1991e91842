import { describe, expect, it } from "@effect/vitest"
import { addressProblem, endpointUrlProblem } from "../../../src/services/webhooks/EndpointAddress.ts"

describe("endpointUrlProblem", () => {
  it("accepts https with a public name or address", () => {
    for (const url of ["https://example.com/hooks?x=1", "https://93.184.215.14:8443/", "https://[2606:2800:21f:cb07::1]/"]) {
      expect(endpointUrlProblem(url, false)).toBe(undefined)
    }
  })

  it("refuses what is not https, carries credentials or is no URL", () => {
    expect(endpointUrlProblem("http://example.com/", false)).toMatch(/https/)
    expect(endpointUrlProblem("http://example.com/", true)).toMatch(/loopback/)
    expect(endpointUrlProblem("ftp://example.com/", true)).toMatch(/https/)
    expect(endpointUrlProblem("https://user@example.com/", false)).toMatch(/credentials/)
    expect(endpointUrlProblem("https://:secret@example.com/", false)).toMatch(/credentials/)
    expect(endpointUrlProblem("example.com", false)).toMatch(/not a URL/)
    expect(endpointUrlProblem(`https://example.com/${"x".repeat(2048)}`, false)).toMatch(/longer/)
  })

  it("refuses every spelling of a loopback address, unless loopback is allowed", () => {
    for (const host of [
      "127.0.0.1",
      "0x7f000001",
      "2130706433",
      "127.1",
      "017700000001",
      "127.0.0.1.",
      "[::1]",
      "localhost",
      "a.localhost."
    ]) {
      expect(endpointUrlProblem(`https://${host}/`, false), host).toBeTypeOf("string")
      expect(endpointUrlProblem(`http://${host}/`, true), host).toBe(undefined)
    }
  })

  it("refuses addresses that are not the public internet, also where loopback is allowed", () => {
    const hosts = [
      "10.1.2.3",
      "172.31.0.1",
      "192.168.1.1",
      "100.64.0.1",
      "169.254.169.254",
      "0.0.0.0",
      "224.0.0.1",
      "255.255.255.255",
      "198.18.0.1"
    ]
    const hosts6 = [
      "::",
      "::ffff:10.0.0.1",
      "::ffff:169.254.169.254",
      "64:ff9b::a00:1",
      "fe80::1",
      "fc00::1",
      "fd00:ec2::254",
      "ff02::1",
      "2002:a00:1::",
      "2001:db8::1"
    ]
    for (const host of [...hosts, ...hosts6.map((host) => `[${host}]`)])
      expect(endpointUrlProblem(`https://${host}/`, true), host).toBeTypeOf("string")
  })
})

describe("addressProblem", () => {
  it("finds a problem in an answer of a look-up that is not an address", () => {
    expect(addressProblem("fe80::1%eth0", "https:", true)).toBeTypeOf("string")
    expect(addressProblem("", "https:", true)).toBeTypeOf("string")
    expect(addressProblem("::ffff:127.0.0.1", "http:", true)).toBe(undefined)
  })
})
