import type { ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Timer } from "../runtime/Timer.ts"

/** So many requests of one connection may wait for their answers: each of them holds memory until its client reads. */
const MAX_UNREAD = 8
/** What was answered on a connection is read in this time, or the connection is cut. */
const READ_MS = 30_000

/** What one connection has asked and not yet read. */
interface ConnectionState {
  readonly responses: Set<ServerResponse>
  /** Answers that are there whole: now it is the client's turn. */
  unread: number
  stopClock: () => void
}

/**
 * Bounds what a connection may leave unread. A connection with more unanswered requests than are allowed is closed. The time for reading
 * runs from the first answer that waits until none does, so that reading one of them gives no time for the next.
 */
export const makeUnreadLimit = (alarm: Timer) => {
  const connections = new WeakMap<Socket, ConnectionState>()

  const stateOf = (socket: Socket): ConnectionState => {
    const known = connections.get(socket)
    if (known !== undefined) return known
    const owed: ConnectionState = { responses: new Set(), unread: 0, stopClock: () => {} }
    connections.set(socket, owed)
    socket.once("close", () => {
      owed.stopClock()
      // Node tells only the response whose turn it was that its client is gone.
      for (const response of owed.responses) if (response.socket === null) response.emit("close")
    })
    return owed
  }

  /** Whether a request may be worked on; if not, its connection is closed. */
  return (socket: Socket, response: ServerResponse): boolean => {
    // What one read brought is parsed to its end, whatever happened to the connection.
    if (socket.destroyed) return false
    const owed = stateOf(socket)
    if (owed.responses.size >= MAX_UNREAD) {
      socket.destroy()
      return false
    }
    owed.responses.add(response)
    let isWhole = false
    response.once("prefinish", () => {
      isWhole = true
      owed.unread += 1
      if (owed.unread === 1) owed.stopClock = alarm(READ_MS, () => socket.destroy())
    })
    response.once("close", () => {
      owed.responses.delete(response)
      if (isWhole) owed.unread -= 1
      if (isWhole && owed.unread === 0) owed.stopClock()
    })
    return true
  }
}
