import { Context, Effect } from "effect"
import { SqlError } from "effect/sql"

/**
 * Wraps a statement about one tenant's rows. On Citus it fails at once while the tenant's server does not answer, and few
 * statements are sent to one server at a time, so that a silent server leaves connections to the others. On plain PostgreSQL it
 * changes nothing.
 */
export type OnTenantServer = (appId: string) => <A, E>(statement: Effect.Effect<A, E>) => Effect.Effect<A, E | SqlError.SqlError>
export const OnTenantServer = Context.Reference<OnTenantServer>("gateway/persistence/OnTenantServer", {
  defaultValue: () => () => (statement) => statement
})

/** Of a process's ten connections; statements without a tenant and probes of servers use the rest. */
const SLOTS_IN_ALL = 8
/** The most slots of one server, provided that the others keep their share. */
const SLOTS_A_SERVER = 4
/**
 * The most slots of one server for claims, sweeps and statements to every server, and always one less than its share: the
 * others are for requests only.
 */
const BACKGROUND_A_SERVER = 2

type StatementUse = "request" | "background"

type Restore = <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>

interface Waiting {
  readonly server: string
  readonly use: StatementUse
  readonly end: (slot: Effect.Effect<void, SqlError.SqlError>) => void
}

/**
 * Limits how many statements a process sends to the servers of tenants at a time: a server that does not answer holds only its
 * share of the connections, and the others continue with the rest. Each server has an equal share reserved, as far as there are
 * enough slots. When a server is found to be silent, callers that wait for its slots are refused, and so are all later ones
 * until it answers. Any other server, such as one without tenants, has no slots.
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

  /** Uninterruptible when a slot is free: an interruption after it was counted would lose it for ever. */
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
    /** Call it when the server was found to be silent. */
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
