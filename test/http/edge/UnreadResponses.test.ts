import type { ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { describe, expect, it, vi } from "vitest"
import { bareListener, closed, opened, turn } from "../../support/BareListener.ts"
import { type EdgeClient, onEdge } from "../../support/EdgeClient.ts"

const GET = "GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
/** More than the buffers of both ends take. */
const LARGE = 32 * 1024 * 1024

/** Reads until so many bytes are there, and then no more. */
const take = (socket: Socket, bytes: number): Promise<void> =>
  new Promise((resolve) => {
    let left = bytes
    const read = (chunk: Buffer) => {
      left -= chunk.length
      if (left > 0) return
      socket.pause().off("data", read)
      resolve()
    }
    socket.on("data", read).resume()
  })

describe("a connection with unanswered requests", () => {
  it("is closed a fixed time after its first unread answer, even if it reads the queued answers slowly", async () => {
    const { timers, port, stop } = await bareListener((response) => response.end(Buffer.alloc(LARGE)))
    const socket = await opened(port)
    socket.pause().write(GET.repeat(4))
    while (timers.length === 0) await turn()
    const [first] = timers
    await take(socket, LARGE + LARGE / 2)
    expect(timers).toEqual([first])
    const cut = closed(socket)
    first?.fire()
    socket.resume()
    await cut
    stop()
  })

  it("is closed where nothing of an answer that is written as it is read was taken for that time", async () => {
    const sent: Array<Socket> = []
    const { port, stop } = await bareListener((response) => {
      if (response.socket !== null) sent.push(response.socket)
      const pump = () => {
        while (response.write(Buffer.alloc(64 * 1024)));
        response.once("drain", pump)
      }
      pump()
    })
    const socket = await opened(port)
    socket.pause().write(GET)
    while (sent.length === 0) await turn()
    const cut = closed(socket)
    // As Node does once it has waited for a byte twice as long.
    expect(sent[0]?.timeout).toBe(15_000)
    sent[0]?.emit("timeout")
    socket.resume()
    await cut
    stop()
  })

  it("stays open for an answer that is not there yet", async () => {
    const asked: Array<ServerResponse> = []
    const { port, stop } = await bareListener((response) => void asked.push(response))
    const socket = await opened(port)
    socket.write(GET)
    while (asked.length === 0) await turn()
    asked[0]?.socket?.emit("timeout")
    asked[0]?.end("late")
    await take(socket, 1)
    socket.destroy()
    stop()
  })

  it("gets the full time again once every answer was read", async () => {
    const { timers, port, stop } = await bareListener((response) => response.end(Buffer.alloc(LARGE)))
    const socket = await opened(port)
    for (const _ of [1, 2]) {
      socket.write(GET)
      await take(socket, LARGE)
      while (timers.length > 0) await turn()
    }
    socket.destroy()
    stop()
  })

  it("may have eight of them; a ninth closes it before any further request is processed", async () => {
    const asked: Array<ServerResponse> = []
    const { port, stop } = await bareListener((response) => void asked.push(response))
    const socket = await opened(port)
    socket.write(GET.repeat(8))
    while (asked.length < 8) await turn()
    const ends = asked.map((response) => new Promise((resolve) => response.once("close", resolve)))
    const cut = closed(socket)
    socket.write(GET.repeat(1_000))
    await cut
    expect(asked).toHaveLength(8)
    // Those that wait for their turn learn of it as well.
    await Promise.all(ends)
    stop()
  })
})

const pipelined = async ({ port }: EdgeClient, count: number) => {
  const socket = await opened(port)
  let text = ""
  socket.on("data", (chunk) => (text += chunk))
  for (let round = 1; round <= 3; round++) {
    socket.write(GET.repeat(count))
    while (text.split("HTTP/1.1 200").length - 1 < round * count) await turn()
  }
  socket.destroy()
}

describe("a client that pipelines requests", () => {
  it(
    "gets all answers to up to eight requests at a time, again and again",
    onEdge((client) => pipelined(client, 8))
  )
})

describe("the log of unsigned requests", () => {
  it(
    "has a hundred lines and counts the others, and has a line for every signed request",
    onEdge(
      async (client) => {
        const lines = () => client.behind.logs.filter((line) => line.includes('"request"')).length
        for (let at = 0; at < 130; at++) await client.ask("GET", "/health")
        expect(lines()).toBe(100)
        await client.signed("GET", "/v1/float")
        expect(lines()).toBe(101)
        const counted = async () => {
          await client.signed("GET", "/v1/float")
          expect(client.behind.logs.some((line) => line.includes("more unsigned requests"))).toBe(true)
        }
        await vi.waitFor(counted, { timeout: 300_000, interval: 100 })
      },
      { haste: 3 }
    )
  )
})

describe("the log of a database that hangs", () => {
  it(
    "has few lines, and says how many requests were shed",
    onEdge(
      async ({ behind, signed: asSigned }) => {
        const answers = await Promise.all(Array.from({ length: 40 }, () => asSigned("GET", "/v1/float")))
        expect([...new Set(answers.map(({ status }) => status))]).toEqual([429])
        const warnings = () =>
          behind.logs.map((line) => JSON.parse(line)).filter(({ message }) => message === "request authentication timed out")
        const counts = () => warnings().flatMap(({ annotations: { count = 0 } }) => (count === 0 ? [] : [count]))
        const own = () => warnings().length - counts().length
        // Each window counts its own; the requests may have come in several.
        const told = () => own() + counts().reduce((sum, count) => sum + count, 0)
        await vi.waitFor(() => expect(told()).toBe(40), { timeout: 300_000 })
        expect(own()).toBeLessThan(40)
      },
      { findsKeys: false, haste: 50, prints: true }
    )
  )
})

it(
  "a request is shed where the database does not say in time what is in force, the log says why, and nothing broke",
  onEdge(
    async ({ behind, signed: asSigned }) => {
      const answer = await asSigned("GET", "/v1/float")
      expect([answer.status, JSON.parse(answer.text).error]).toMatchObject([
        429,
        { code: "rate_limited", details: { scope: "server" } }
      ])
      const lines = behind.logs.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line))
      expect(lines.filter(({ level }) => level === "warn" || level === "error")).toEqual([
        expect.objectContaining({
          level: "warn",
          message: "request authentication timed out",
          error: expect.stringContaining("the keys")
        })
      ])
    },
    { findsKeys: "late", prints: true }
  )
)
