import type { ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import type { Timer } from "../../runtime/Timer.ts"

/** How many requests of one connection may wait for their responses to be read. Each holds memory until then. */
const MAX_UNREAD = 8
/** A client that does not read its responses within this time is disconnected. */
const READ_MS = 30_000

/** The responses of one connection that its client has not read. */
interface ConnectionState {
  readonly responses: Set<ServerResponse>
  /** Completely written responses that the client has not read yet. */
  unread: number
  stopClock: () => void
}

/**
 * Limits the unread responses per connection. A connection with more than `MAX_UNREAD` is closed. The time limit for reading
 * begins with the first unread response and ends when there is none; reading one response does not extend it for the next. Of a
 * response that is still being written, each part has the same time.
 */
export const makeUnreadLimit = (timer: Timer) => {
  const connections = new WeakMap<Duplex, ConnectionState>()

  const stateOf = (socket: Socket): ConnectionState => {
    const known = connections.get(socket)
    if (known !== undefined) return known
    const owed: ConnectionState = { responses: new Set(), unread: 0, stopClock: () => {} }
    connections.set(socket, owed)
    socket.once("close", () => {
      owed.stopClock()
      // Node reports a disconnect only to the response whose turn it is.
      for (const response of owed.responses) if (response.socket === null) response.emit("close")
    })
    return owed
  }

  /** Whether to process a request. If not, its connection is closed. */
  const isAdmitted = (socket: Socket, response: ServerResponse): boolean => {
    // Node parses everything from one read, even when the connection has been closed in the meantime.
    if (socket.destroyed) return false
    const owed = stateOf(socket)
    if (owed.responses.size >= MAX_UNREAD) {
      socket.destroy()
      return false
    }
    owed.responses.add(response)
    // A response that is written while it is read, such as a statement as CSV, is whole only at its end. Until then its client
    // has to read something of it in this time, which Node lets pass twice. Without unread bytes the response waits for us.
    response.setTimeout(READ_MS / 2, () => {
      if (socket.writableLength > 0) socket.destroy()
    })
    let isWhole = false
    response.once("prefinish", () => {
      isWhole = true
      owed.unread += 1
      if (owed.unread === 1) owed.stopClock = timer(READ_MS, () => socket.destroy())
    })
    response.once("close", () => {
      owed.responses.delete(response)
      if (isWhole) owed.unread -= 1
      if (isWhole && owed.unread === 0) owed.stopClock()
    })
    return true
  }

  return {
    isAdmitted,
    /** The responses to admitted requests that their clients have not received yet. */
    owedOn: (socket: Duplex): ReadonlySet<ServerResponse> => connections.get(socket)?.responses ?? NONE
  }
}

const NONE: ReadonlySet<ServerResponse> = new Set()
