import { connect, type Socket } from "node:net"
import { describe, expect, it } from "vitest"
import { makeConnections } from "../../../src/http/edge/ConnectionLimit.ts"
import { type EdgeClient, onEdge } from "../../support/EdgeClient.ts"

/** A connection that asks once and stays; null where it was closed without an answer. */
const held = ({ port }: EdgeClient): Promise<Socket | null> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write("GET /health HTTP/1.1\r\nHost: a\r\n\r\n"))
    socket.once("data", () => resolve(socket)).once("close", () => resolve(null))
    socket.on("error", () => {})
  })
const end = (socket: Socket | null) => new Promise<void>((resolve) => (socket === null ? resolve() : socket.end(resolve)))
/** Until one that was given back is free. */
const again = async (client: EdgeClient): Promise<Socket> => (await held(client)) ?? again(client)

describe("connections", () => {
  it(
    "of one address are bounded, and a closed one makes room",
    onEdge(
      async (client) => {
        const [first, second, third] = [await held(client), await held(client), await held(client)]
        expect([first, second, third].map((socket) => socket !== null)).toEqual([true, true, false])
        await end(first)
        const next = await again(client)
        expect(await held(client)).toBe(null)
        await Promise.all([second, next].map(end))
      },
      { connections: { inAll: 10, anAddress: 2 }, trustedProxies: [] }
    )
  )

  it(
    "of a trusted proxy are bounded in all only, because they carry many clients",
    onEdge(
      async (client) => {
        const all = [await held(client), await held(client), await held(client), await held(client)]
        expect(all.map((socket) => socket !== null)).toEqual([true, true, true, false])
        await Promise.all(all.map(end))
      },
      { connections: { inAll: 3, anAddress: 1 }, trustedProxies: ["127.0.0.1"] }
    )
  )

  it(
    "are closed by the server when a client was told to close and does not",
    onEdge(
      async (client) => {
        const open = connect({ port: client.port, host: "127.0.0.1", allowHalfOpen: true })
        const told = new Promise((resolve) => open.once("end", resolve).resume())
        open.write("nonsense\r\n\r\n")
        await told
        await end(await again(client))
        open.destroy()
      },
      { connections: { inAll: 1, anAddress: 1 }, trustedProxies: [], haste: 200 }
    )
  )

  it("count a /64 of IPv6 as one client, and IPv4 inside IPv6 as IPv4", () => {
    const taken = (addresses: ReadonlyArray<string>) => {
      const place = makeConnections({ inAll: 10, anAddress: 1 }, ["2001:db8:ffff::/48"])
      return addresses.map((address) => typeof place(address))
    }
    expect(taken(["2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "2001:db8:1:2:3:4:5:6"])).toEqual(["function", "string", "string"])
    expect(taken(["2001:db8::1", "2001:db8:0:1::1", "2001:db8:0:0:9::1", "::1", "::2"])).toEqual([
      "function",
      "function",
      "string",
      "function",
      "string"
    ])
    expect(taken(["::ffff:192.0.2.1", "192.0.2.1", "192.0.2.2"])).toEqual(["function", "string", "function"])
    expect(taken(["2001:db8:ffff::1", "2001:db8:ffff::1"])).toEqual(["function", "function"])
  })

  it("free both their bounds when they end", () => {
    const place = makeConnections({ inAll: 2, anAddress: 1 }, [])
    const first = place("192.0.2.1")
    expect([place("192.0.2.1"), typeof place("192.0.2.2"), place("192.0.2.3")]).toEqual(["an_address", "function", "in_all"])
    if (typeof first === "function") first()
    expect(typeof place("192.0.2.1")).toBe("function")
  })
})
