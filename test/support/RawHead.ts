import { connect, type Socket } from "node:net"
import { Effect } from "effect"

/** What Node answers by itself: no HTTP, headers that are too long, no Host, and an expectation that it does not know. */
export const STRANGE: ReadonlyArray<string> = [
  "nonsense\r\n\r\n",
  `GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ${"x".repeat(20_000)}\r\n\r\n`,
  "GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n",
  "GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: wonders\r\nConnection: close\r\n\r\n"
]

/** The head of the answer to these bytes; empty where the connection was closed without one. */
export const rawHead = (port: number, bytes: string, localAddress = "127.0.0.1"): Effect.Effect<string> =>
  Effect.callback((resume) => {
    let text = ""
    const socket = connect({ port, host: "127.0.0.1", localAddress }, () => void socket.write(bytes))
    socket.on("data", (chunk) => {
      text += chunk
      if (text.includes("\r\n\r\n")) socket.destroy()
    })
    socket.on("error", () => undefined)
    socket.on("close", () => resume(Effect.succeed(text.split("\r\n\r\n")[0] ?? "")))
  })

/** A connection that asks nothing, once the server has it. */
export const idleConnection = (port: number): Effect.Effect<Socket> =>
  Effect.callback((resume) => {
    const socket = connect({ port, host: "127.0.0.1" }, () => resume(Effect.succeed(socket)))
    socket.on("error", () => undefined)
  })

export const closed = (socket: Socket): Effect.Effect<void> =>
  Effect.callback((resume) => void socket.once("close", () => resume(Effect.void)).destroy())
