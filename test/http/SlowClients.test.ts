import { connect, type Socket } from "node:net"
import { describe, expect, it } from "vitest"
import { type EdgeClient, onEdge } from "../support/EdgeClient.ts"

/** A second of the server takes five milliseconds. */
const hasty = { haste: 200 }
const opened = ({ port }: EdgeClient): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket)).on("error", reject)
  })
/** All that comes until the server ends the connection. */
const heard = (socket: Socket): Promise<string> =>
  new Promise((resolve) => {
    const chunks: Array<Buffer> = []
    socket.on("data", (chunk) => chunks.push(chunk)).on("close", () => resolve(Buffer.concat(chunks).toString()))
    socket.removeAllListeners("error").on("error", () => {})
  })
const closed = (socket: Socket) => {
  let isClosed = false
  socket
    .removeAllListeners("error")
    .on("error", () => {})
    .on("close", () => (isClosed = true))
  return () => isClosed
}

describe("a slow client", () => {
  it(
    "has one deadline for its whole body, however many bytes it sends at a time",
    onEdge(async (client) => {
      const socket = await opened(client)
      const isCut = closed(socket)
      const all = heard(socket)
      socket.write("POST /v1/payouts HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n")
      while (!isCut()) {
        socket.write("x")
        await client.ask("GET", "/health")
      }
      const answer = await all
      expect(answer).toContain("HTTP/1.1 400")
      expect(answer).toContain("The body did not arrive within 30 seconds.")
    }, hasty)
  )

  it(
    "that calls an unknown callback path is answered before its body is read",
    onEdge(async (client) => {
      const head = (path: string, method = "POST") => `${method} ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n`
      for (const path of ["/webhooks/eversend/secret-2", "/webhooks/mtn/secret-1", "/webhooks/eversend", "/webhooks/a/b/c"])
        expect((await client.bytes(head(path))).status).toBe(404)
      expect((await client.bytes(head("/webhooks/eversend/secret-1", "PATCH"))).status).toBe(405)
      expect((await client.bytes(`${head("/webhooks/eversend/secret-1")}${"x".repeat(200_000)}`)).status).toBe(200)
    })
  )
})
