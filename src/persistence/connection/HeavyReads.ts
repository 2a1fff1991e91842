import { Effect, Semaphore } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { RateLimited } from "../../domain/errors/Retriable.ts"

/** Of the ten connections of a process: the others are for payments, callbacks, webhooks and reads of one record. */
const READS_AT_ONCE = 3
/** The read that runs, and those that wait for it. */
const READS_A_HOLDER = 8
/** A read takes some milliseconds, and eight of the longest less than this. */
const RETRY_AFTER_SECONDS = 1

/** The name under which all operators take turns. No tenant has this name. */
export const OPERATORS = "console"

interface Holder {
  readonly turn: Semaphore.Semaphore
  reads: number
}

/**
 * The places for reads that look at many rows: lists and searches. A few run at once in a process, each on a connection of its own, because statements that
 * share one wait for each other. Of one holder, a tenant or the console, one runs at a time, so that none has all the places; and a few more wait for
 * it. A further one is refused before anything is read.
 */
export const makeHeavyReads = (sql: SqlClient.SqlClient) => {
  const places = Semaphore.makeUnsafe(READS_AT_ONCE)
  const holders = new Map<string, Holder>()

  const enter = (name: string) =>
    Effect.suspend(() => {
      const holder = holders.get(name) ?? { turn: Semaphore.makeUnsafe(1), reads: 0 }
      if (holder.reads >= READS_A_HOLDER)
        return Effect.fail(new RateLimited({ scope: "server", retry_after_seconds: RETRY_AFTER_SECONDS }))
      holder.reads += 1
      holders.set(name, holder)
      return Effect.succeed(holder)
    })

  const leave = (name: string) => (holder: Holder) =>
    Effect.sync(() => {
      holder.reads -= 1
      if (holder.reads === 0) holders.delete(name)
    })

  const onOwnConnection = <A, E>(read: Effect.Effect<A, E>): Effect.Effect<A, E | SqlError.SqlError> =>
    Effect.scoped(
      Effect.flatMap(sql.reserve, (connection) => Effect.provideService(read, sql.transactionService, [connection, 0]))
    )

  return (name: string) =>
    <A, E>(read: Effect.Effect<A, E>): Effect.Effect<A, E | SqlError.SqlError | RateLimited> =>
      Effect.acquireUseRelease(
        enter(name),
        ({ turn }) => onOwnConnection(read).pipe(places.withPermits(1), turn.withPermits(1)),
        leave(name)
      )
}

/** One moment of the database for all statements of a read, which has a connection of its own. */
export const ofOneMoment =
  (sql: SqlClient.SqlClient) =>
  <A, E>(read: Effect.Effect<A, E>): Effect.Effect<A, E | SqlError.SqlError> =>
    Effect.acquireUseRelease(
      sql`BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY`,
      () => read,
      () => Effect.orDie(sql`COMMIT`)
    )
