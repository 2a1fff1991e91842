import type { IncomingMessage, ServerResponse } from "node:http"
import { connect, type Socket } from "node:net"
import { expect, it } from "vitest"
import { makeHttpServer } from "../../src/http/NodeListener.ts"

/** More than a client takes in that does not read, and no more than the system keeps for it. */
const LARGE = 1024 * 1024
const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
const POST = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${LARGE}\r\n\r\n${"x".repeat(LARGE)}`

/** A listener that answers every request with a megabyte on a connection that it closes; its timers fire when a test says so. */
const givenListener = async () => {
  const timers: Array<() => void> = []
  const asked: Array<string> = []
  const sockets: Array<Socket> = []
  const server = makeHttpServer({
    timer: (_, fire) => {
      timers.push(fire)
      return () => undefined
    },
    keepAliveDrainMs: 0,
    placeFor: () => () => {},
    onRefused: () => {}
  })
  const finished = new Promise<void>((done) =>
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      asked.push(String(request.method))
      sockets.push(request.socket)
      response.setHeader("connection", "close")
      response.end(Buffer.alloc(LARGE), () => done())
    })
  )
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const stop = () => new Promise((stopped) => server.close(stopped))
  return { asked, finished, port, sockets, stop, timers }
}

/** What comes until the other side has ended, and how the connection ends. */
const heard = (socket: Socket) =>
  new Promise<{ readonly bytes: number; readonly error: string | undefined }>((resolve) => {
    let bytes = 0
    let error: string | undefined
    socket.on("data", (chunk: Buffer) => void (bytes += chunk.length))
    socket.on("error", (cause: NodeJS.ErrnoException) => void (error = cause.code))
    socket.on("end", () => socket.end())
    socket.on("close", () => resolve({ bytes, error }))
    socket.resume()
  })

it("a client that has sent more than was answered reads the whole of its last response, and nothing of the rest is worked on", async () => {
  const { asked, finished, port, stop } = await givenListener()
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true }).pause()
  socket.write(GET)
  await finished
  socket.write(POST + GET)
  const { bytes, error } = await heard(socket)
  expect([bytes > LARGE, error, asked]).toStrictEqual([true, undefined, ["GET"]])
  await stop()
})

it("a client that does not close after its last response is closed in time", async () => {
  const { finished, port, sockets, stop, timers } = await givenListener()
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true })
  const ended = new Promise((end) => socket.resume().once("end", end))
  socket.write(GET)
  await finished
  await ended
  expect(sockets.map(({ destroyed }) => destroyed)).toStrictEqual([false])
  const closed = new Promise((close) => socket.on("error", () => {}).once("close", close))
  for (const fire of timers) fire()
  socket.end(GET)
  await closed
  await stop()
})
