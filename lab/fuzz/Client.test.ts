import { once } from "node:events"
import { createServer, type Socket } from "node:net"
import { expect, it } from "vitest"
import type { Case } from "./Case.ts"
import { makeClient } from "./Client.ts"

const asked = { method: "GET", target: "/", sent: "" }
const one: Case = { pieces: [Buffer.from("GET / HTTP/1.1\r\n\r\n")], asked: [asked], whole: true }
const ANSWER = "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\nContent-Length: 0\r\n\r\n"

/** A client with a clock of its own, and a server that answers each request by `answer`. */
const playing = async (answer: (socket: Socket) => void) => {
  const sockets: Array<Socket> = []
  const errors: Array<string> = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on("error", ({ message }) => errors.push(message)).on("data", () => answer(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const clock = { now: 0 }
  const port = typeof address === "object" && address !== null ? address.port : 0
  const client = makeClient(port, "127.0.0.1", () => clock.now)
  const close = () => {
    client.close()
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  return { client, clock, close, errors, sockets }
}

it("uses a connection again for as long as its last answer promised, counted from the request, and then opens another", async () => {
  const { client, clock, close, sockets } = await playing((socket) => void socket.write(ANSWER))
  const connections = []
  for (const ms of [0, 4_999, 4_999, 5_000]) {
    clock.now += ms
    expect((await client.play(one)).fault).toBeUndefined()
    connections.push(sockets.length)
  }
  expect(connections).toEqual([1, 1, 1, 2])
  close()
})

it("finds a connection that is closed or written to in that time, and none that is closed after it", async () => {
  const { client, clock, close, sockets } = await playing((socket) => void socket.write(ANSWER))
  const faultAfter = async (ms: number, event: "data" | "end") => {
    await client.play(one)
    const kept = client.kept()
    clock.now += ms
    const seen = kept === undefined ? undefined : once(kept, event)
    if (event === "end") sockets.at(-1)?.end()
    else sockets.at(-1)?.write(ANSWER)
    await seen
    return (await client.play(one)).fault
  }
  expect(await faultAfter(4_999, "end")).toBe("closed before the time that its last answer promised")
  expect(await faultAfter(4_999, "data")).toBe("bytes that nobody asked for")
  expect(await faultAfter(5_000, "end")).toBeUndefined()
  close()
})

it("finds a connection that is closed instead of an answer", async () => {
  const { client, close } = await playing((socket) => void socket.end())
  expect((await client.play(one)).fault).toBe("closed after 0 of 1 answers")
  close()
})

it("resets the connection of a case that says so", async () => {
  const { client, close, errors, sockets } = await playing((socket) => void socket.write(ANSWER))
  expect(await client.play({ ...one, whole: false, isReset: true })).toMatchObject({ answers: [{ status: 200 }] })
  const [socket] = sockets
  if (socket?.closed === false) await once(socket, "close").catch(() => {})
  expect(errors).toEqual(["read ECONNRESET"])
  close()
})
