import { Context, Effect } from "effect"
import { SqlError } from "effect/sql"

/**
 * Around a statement about one tenant's rows: on Citus it fails at once while that tenant's server does not answer, and few at a time are sent to one server,
 * so that one which falls silent leaves connections to the others. On PostgreSQL it is the statement.
 */
export type OnTenantServer = (appId: string) => <A, E>(statement: Effect.Effect<A, E>) => Effect.Effect<A, E | SqlError.SqlError>
export const OnTenantServer = Context.Reference<OnTenantServer>("gateway/persistence/OnTenantServer", {
  defaultValue: () => () => (statement) => statement
})

/** Of the ten connections of a process; what is of no tenant, and the probes of servers, have the rest. */
const SLOTS_IN_ALL = 8
/** Of these so many are one server's at most: as far as the others keep their share. */
const SLOTS_A_SERVER = 4
/** Of these so many are for claims, sweeps and what is asked of every server, and always one less than its share: the others are for requests alone. */
const BACKGROUND_A_SERVER = 2

type StatementUse = "request" | "background"

type Restore = <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>

interface Waiting {
  readonly server: string
  readonly use: StatementUse
  readonly end: (slot: Effect.Effect<void, SqlError.SqlError>) => void
}

/**
 * How many statements one process sends to the servers of tenants at a time: a server that does not answer holds no more connections than
 * its share, and the others go on with the rest. Each has an even share kept for it, as far as there are enough. A caller that waits for a
 * slot when the server is found to be silent is refused, and so is every caller until it answers. A server that is none of these, such as
 * one of no tenants, has no slots.
 */
export const serverSlots = (isSilent: (server: string) => boolean, servers: () => ReadonlySet<string>) => {
  const taken = new Map<string, number>()
  const background = new Map<string, number>()
  const waiting = new Set<Waiting>()
  let inAll = 0

  const of = (counts: ReadonlyMap<string, number>, server: string) => counts.get(server) ?? 0
  const count = (server: string, use: StatementUse, by: number) => {
    taken.set(server, of(taken, server) + by)
    if (use === "background") background.set(server, of(background, server) + by)
    inAll += by
  }
  const isFree = (server: string, use: StatementUse) => {
    const all = servers()
    const share = Math.min(SLOTS_A_SERVER, Math.floor(SLOTS_IN_ALL / all.size))
    if (of(taken, server) >= (share === 0 ? 1 : SLOTS_A_SERVER)) return false
    if (use === "background" && of(background, server) >= Math.min(BACKGROUND_A_SERVER, Math.max(1, share - 1))) return false
    let kept = 0
    for (const other of all) if (other !== server) kept += Math.max(0, share - of(taken, other))
    return inAll + kept < SLOTS_IN_ALL
  }

  /** Not interruptible where a slot is free: an interruption after it was counted would keep it for ever. */
  const take = (server: string, use: StatementUse, restore: Restore): Effect.Effect<void, SqlError.SqlError> =>
    Effect.suspend(() => {
      if (isSilent(server)) return notSent(server)
      if (!isFree(server, use)) return restore(wait(server, use))
      count(server, use, 1)
      return Effect.void
    })

  const wait = (server: string, use: StatementUse): Effect.Effect<void, SqlError.SqlError> =>
    Effect.callback((end) => {
      const one = { server, use, end }
      waiting.add(one)
      return Effect.sync(() => void waiting.delete(one))
    })

  const give = (server: string, use: StatementUse) =>
    Effect.sync(() => {
      count(server, use, -1)
      for (const one of waiting) {
        if (!isFree(one.server, one.use)) continue
        waiting.delete(one)
        count(one.server, one.use, 1)
        one.end(Effect.void)
      }
    })

  return {
    within:
      (server: string, use: StatementUse = "request") =>
      <A, E, R>(statement: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError.SqlError, R> =>
        Effect.suspend(() =>
          servers().has(server)
            ? Effect.uninterruptibleMask((restore) =>
                Effect.flatMap(take(server, use, restore), () => Effect.ensuring(restore(statement), give(server, use)))
              )
            : statement
        ),
    /** The server was found to be silent. */
    refuseWaiting: (server: string) => {
      for (const one of waiting)
        if (one.server === server) {
          waiting.delete(one)
          one.end(notSent(server))
        }
    }
  }
}

/** Nothing was sent. */
const notSent = (server: string) => {
  const message = `the database server ${server} does not answer`
  return Effect.fail(
    new SqlError.SqlError({ reason: new SqlError.ConnectionError({ cause: new Error(message), message, operation: "connect" }) })
  )
}
