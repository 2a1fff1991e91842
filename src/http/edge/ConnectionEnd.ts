import type { ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import type { Timer } from "../../runtime/Timer.ts"

/** A client has this long to take the last response of its connection and to close it, too. */
const CLOSE_MS = 2_000
/** The bytes that the client sends meanwhile are read and thrown away; after this number, reading stops. */
const DISCARDED_BYTES = 256 * 1024

/**
 * How the server ends a connection: with every response that it owes, up to the one that says `connection: close`. `owedOn` gives those
 * that a connection still waits for.
 *
 * Node destroys a connection after its last response. If bytes wait to be read then, the kernel resets the connection and drops what it
 * has not sent yet: the client loses a response that it was given. So the server stops writing first, and reads until the client closes.
 */
export const makeConnectionEnd = (timer: Timer, owedOn: (socket: Duplex) => ReadonlySet<ServerResponse>) => {
  const refused = new WeakSet<Duplex>()

  const end = (socket: Duplex, last = ""): void => {
    if (!socket.writable) return
    socket.once(
      "close",
      timer(CLOSE_MS, () => socket.destroy())
    )
    socket.end(last)
  }

  return {
    /** Arranges, for a new connection, that its end does not take away a response that was sent. */
    endsGently: (socket: Socket): void => {
      socket.destroySoon = () => end(socket)
      socket.once("finish", () => discard(socket))
      // After CONNECT Node no longer listens, and a reset would end the process.
      socket.on("error", () => {})
    },

    /** Whether no further request of the connection is worked on. It would have no response. */
    isEnding: (socket: Duplex): boolean => !socket.writable || refused.has(socket) || owedOn(socket).values().some(isLast),

    /** Ends a connection whose bytes cannot be parsed any further with `last`, after the responses to the requests before them. */
    refuse: (socket: Duplex, last: () => string): void => {
      // Node tells of it again with each read.
      if (!socket.writable || refused.has(socket)) return
      refused.add(socket)
      socket.pause()
      const endInTurn = () => {
        const owed = owedOn(socket)
          .values()
          .find(({ headersSent, req }) => req.complete || headersSent)
        if (owed === undefined) end(socket, last())
        else owed.once("close", endInTurn)
      }
      endInTurn()
    }
  }
}

/** Whether a response says, or will say, `connection: close`. */
const isLast = (response: ServerResponse): boolean => !response.shouldKeepAlive || response.getHeader("connection") === "close"

const discard = (socket: Socket): void => {
  if (socket.readableEnded) return
  let bytes = 0
  // Takes the bytes from Node's parser, which would look for requests in them.
  socket.removeAllListeners("data").on("data", ({ length }: Buffer) => {
    bytes += length
    if (bytes > DISCARDED_BYTES) socket.pause()
  })
  // The parser may have paused the socket in the middle of a read. An empty chunk ends that read, or no other would begin.
  socket.push("")
  socket.resume()
}
