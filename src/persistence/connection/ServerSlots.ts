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
const ASKED_A_SERVER = 2

type Kind = "request" | "asked"

type Restore = <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>

interface Waiting {
  readonly server: string
  readonly kind: Kind
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
  const asked = new Map<string, number>()
  const waiting = new Set<Waiting>()
  let inAll = 0

  const of = (counts: ReadonlyMap<string, number>, server: string) => counts.get(server) ?? 0
  const count = (server: string, kind: Kind, by: number) => {
    taken.set(server, of(taken, server) + by)
    if (kind === "asked") asked.set(server, of(asked, server) + by)
    inAll += by
  }
  const isFree = (server: string, kind: Kind) => {
    const all = servers()
    const share = Math.min(SLOTS_A_SERVER, Math.floor(SLOTS_IN_ALL / all.size))
    if (of(taken, server) >= (share === 0 ? 1 : SLOTS_A_SERVER)) return false
    if (kind === "asked" && of(asked, server) >= Math.min(ASKED_A_SERVER, Math.max(1, share - 1))) return false
    let kept = 0
    for (const other of all) if (other !== server) kept += Math.max(0, share - of(taken, other))
    return inAll + kept < SLOTS_IN_ALL
  }

  /** Not interruptible where a slot is free: an interruption after it was counted would keep it for ever. */
  const take = (server: string, kind: Kind, restore: Restore): Effect.Effect<void, SqlError.SqlError> =>
    Effect.suspend(() => {
      if (isSilent(server)) return notAsked(server)
      if (!isFree(server, kind)) return restore(wait(server, kind))
      count(server, kind, 1)
      return Effect.void
    })

  const wait = (server: string, kind: Kind): Effect.Effect<void, SqlError.SqlError> =>
    Effect.callback((end) => {
      const one = { server, kind, end }
      waiting.add(one)
      return Effect.sync(() => void waiting.delete(one))
    })

  const give = (server: string, kind: Kind) =>
    Effect.sync(() => {
      count(server, kind, -1)
      for (const one of waiting) {
        if (!isFree(one.server, one.kind)) continue
        waiting.delete(one)
        count(one.server, one.kind, 1)
        one.end(Effect.void)
      }
    })

  return {
    within:
      (server: string, kind: Kind = "request") =>
      <A, E, R>(statement: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError.SqlError, R> =>
        Effect.suspend(() =>
          servers().has(server)
            ? Effect.uninterruptibleMask((restore) =>
                Effect.flatMap(take(server, kind, restore), () => Effect.ensuring(restore(statement), give(server, kind)))
              )
            : statement
        ),
    /** The server was found to be silent. */
    refuseWaiting: (server: string) => {
      for (const one of waiting)
        if (one.server === server) {
          waiting.delete(one)
          one.end(notAsked(server))
        }
    }
  }
}

/** Nothing was sent. */
const notAsked = (server: string) => {
  const message = `the database server ${server} does not answer`
  return Effect.fail(
    new SqlError.SqlError({ reason: new SqlError.ConnectionError({ cause: new Error(message), message, operation: "connect" }) })
  )
}
