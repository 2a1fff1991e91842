import { connect, type Socket } from "node:net"
import type * as PgConnection from "@effect/sql-pg/PgConnection"
import * as PgPool from "@effect/sql-pg/PgPool"
import { Effect, type Scope } from "effect"
import type { SqlError } from "effect/sql"

/** Where one server listens: an address of its name, or the path of a socket. */
export interface Listener {
  readonly host: string
  readonly address: string
  readonly port: number
}

/** The connections to one server, which can all be cut at once. */
export interface ServerPool {
  readonly get: Effect.Effect<PgConnection.PgConnection, SqlError.SqlError, Scope.Scope>
  readonly invalidate: (connection: PgConnection.PgConnection) => Effect.Effect<void>
  /** Statements under way fail, as with a server that died; a request to cancel is not sent. */
  readonly cut: Effect.Effect<void>
}

/** A pool of connections to this server and no other, whatever else its address names. */
export const makeServerPool = Effect.fnUntraced(function* (config: PgPool.Config, { address, host, port }: Listener) {
  const sockets = new Set<Socket>()
  const stream = () => {
    const socket = address.startsWith("/")
      ? connect({ path: `${address}/.s.PGSQL.${port}` })
      : // A statement is one write and then a wait for its answer: there is nothing to gather.
        connect({ host: address, port, noDelay: true })
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
    return socket
  }
  const pool = yield* PgPool.make({ ...config, host, port, stream })
  // The pool stays: closing it would interrupt a caller that waits for a connection, and that caller is to get one to another server.
  const cut = Effect.sync(() => {
    for (const socket of sockets) socket.destroy()
  })
  return { get: pool.get, invalidate: pool.invalidate, cut } satisfies ServerPool
})
