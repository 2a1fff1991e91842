import type { ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import type { Timer } from "../../runtime/Timer.ts"

/** How long a client may take to read the last response of its connection and close it. */
const CLOSE_MS = 2_000
/** In that time the client's further bytes are read and discarded; beyond this number, reading stops. */
const DISCARDED_BYTES = 256 * 1024

/**
 * Closes connections without losing responses: every response that the server owes is sent, up to the one with `connection:
 * close`. `owedOn` returns the responses that a connection still waits for.
 *
 * Node destroys a connection after its last response. If unread bytes are waiting at that moment, the kernel resets the
 * connection and drops what it has not sent yet, so that the client loses its response. The server therefore stops writing
 * first, and reads until the client closes.
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
    /** Makes sure, for a new connection, that closing it does not lose a response that was sent. */
    endsGently: (socket: Socket): void => {
      socket.destroySoon = () => end(socket)
      socket.once("finish", () => discard(socket))
      // After CONNECT Node removes its error listener, and a reset would crash the process.
      socket.on("error", () => {})
    },

    /** Whether further requests on the connection are ignored, because they could not get a response. */
    isEnding: (socket: Duplex): boolean => !socket.writable || refused.has(socket) || owedOn(socket).values().some(isLast),

    /** Ends a connection whose bytes cannot be parsed any further: sends `last` after the responses to the earlier requests. */
    refuse: (socket: Duplex, last: () => string): void => {
      // Node reports the parse error again with each read.
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
  // Takes the bytes away from Node's parser, which would parse them as requests.
  socket.removeAllListeners("data").on("data", ({ length }: Buffer) => {
    bytes += length
    if (bytes > DISCARDED_BYTES) socket.pause()
  })
  // The parser may have paused the socket within a read. An empty chunk ends that read; without it no other would begin.
  socket.push("")
  socket.resume()
}
