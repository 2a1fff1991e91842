import { Context, Effect } from "effect"
import { SqlError } from "effect/sql"

/**
 * Around a statement about one tenant's rows: on Citus it fails at once while that tenant's server does not answer, and few at a time are sent to one server,
 * so that one which falls silent leaves connections to the others. On PostgreSQL it is the statement.
 */
export type OfTenant = (appId: string) => <A, E>(statement: Effect.Effect<A, E>) => Effect.Effect<A, E | SqlError.SqlError>
export const OfTenant = Context.Reference<OfTenant>("gateway/persistence/OfTenant", {
  defaultValue: () => () => (statement) => statement
})

/** Of the ten connections of a process; what is of no tenant, and what is of one and was not foreseen, has the rest. */
const PLACES_A_SERVER = 4
const PLACES_IN_ALL = 8

interface Waiting {
  readonly server: string
  readonly end: (place: Effect.Effect<void, SqlError.SqlError>) => void
}

/**
 * How many statements one process sends to the servers of a cluster at a time: a server that does not answer holds no more connections than its share, and the
 * others go on with the rest. Whoever waits for a place when the server is found to be silent is refused, and so is everybody until it answers.
 */
export const serverPlaces = (isSilent: (server: string) => boolean) => {
  const taken = new Map<string, number>()
  const waiting = new Set<Waiting>()
  let inAll = 0

  const count = (server: string, by: number) => {
    taken.set(server, (taken.get(server) ?? 0) + by)
    inAll += by
  }
  const isFree = (server: string) => inAll < PLACES_IN_ALL && (taken.get(server) ?? 0) < PLACES_A_SERVER

  const take = (server: string): Effect.Effect<void, SqlError.SqlError> =>
    Effect.callback((end) => {
      if (isSilent(server)) return end(notAsked(server))
      if (isFree(server)) {
        count(server, 1)
        return end(Effect.void)
      }
      const one = { server, end }
      waiting.add(one)
      return Effect.sync(() => void waiting.delete(one))
    })

  const give = (server: string) =>
    Effect.sync(() => {
      count(server, -1)
      for (const one of waiting) {
        if (!isFree(one.server)) continue
        waiting.delete(one)
        count(one.server, 1)
        one.end(Effect.void)
      }
    })

  return {
    within:
      (server: string) =>
      <A, E, R>(statement: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError.SqlError, R> =>
        Effect.uninterruptibleMask((restore) =>
          Effect.flatMap(restore(take(server)), () => Effect.ensuring(restore(statement), give(server)))
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
