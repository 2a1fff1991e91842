import type { ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import type { Timer } from "../../runtime/Timer.ts"

/** How many requests of one connection may wait for their responses to be read. Each holds memory until then. */
const MAX_UNREAD = 8
/** The client reads its responses within this time, or the connection is closed. */
const READ_MS = 30_000

/** The responses of a connection that the client has not read. */
interface ConnectionState {
  readonly responses: Set<ServerResponse>
  /** Responses that are written whole: now it is the client's turn. */
  unread: number
  stopClock: () => void
}

/**
 * Limits the responses that a connection leaves unread. A connection with more requests than `MAX_UNREAD` is closed. The time for
 * reading runs from the first response that waits until none does: reading one of them gives no more time for the next.
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
      // Node tells only the response whose turn it is that its client has gone.
      for (const response of owed.responses) if (response.socket === null) response.emit("close")
    })
    return owed
  }

  /** Whether a request may be worked on. If not, its connection is closed. */
  const isAdmitted = (socket: Socket, response: ServerResponse): boolean => {
    // Node parses all that one read brought, even where the connection has been closed meanwhile.
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
    /** The responses to the requests that were admitted, until their clients have taken them. */
    owedOn: (socket: Duplex): ReadonlySet<ServerResponse> => connections.get(socket)?.responses ?? NONE
  }
}

const NONE: ReadonlySet<ServerResponse> = new Set()
