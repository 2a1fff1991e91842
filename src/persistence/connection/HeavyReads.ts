import { Effect, Semaphore } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { RateLimited } from "../../domain/errors/Retriable.ts"

/** Of a process's ten connections; the others are for payments, callbacks, webhooks and reads of single records. */
const READS_AT_ONCE = 3
/** The running read and those that wait for it. */
const READS_A_HOLDER = 8
/** A read takes milliseconds, and eight of the longest take less than this. */
const RETRY_AFTER_SECONDS = 1

/** The name under which all operators share one queue. No tenant has this name. */
export const OPERATORS = "console"

interface Holder {
  readonly turn: Semaphore.Semaphore
  reads: number
}

interface Slots {
  readonly places: Semaphore.Semaphore
  readonly holders: Map<string, Holder>
}

/** Of each pool: all kinds of lists take from the same slots. */
const slotsOf = new WeakMap<SqlClient.SqlClient, Slots>()

/**
 * Limits reads of many rows: lists and searches of every kind. A few run at once in a process, each on its own connection,
 * because statements that share one wait for each other. Of one holder, a tenant or the console, one runs at a time, so that
 * none takes all the slots, and a few more may wait. Any further one is refused before anything is read.
 */
export const makeHeavyReads = (sql: SqlClient.SqlClient) => {
  const slots: Slots = slotsOf.get(sql) ?? { places: Semaphore.makeUnsafe(READS_AT_ONCE), holders: new Map() }
  slotsOf.set(sql, slots)
  const { holders, places } = slots

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

/** Runs all statements of a read in one snapshot, on its own connection. */
export const ofOneMoment =
  (sql: SqlClient.SqlClient) =>
  <A, E>(read: Effect.Effect<A, E>): Effect.Effect<A, E | SqlError.SqlError> =>
    Effect.acquireUseRelease(
      sql`BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY`,
      () => read,
      () => Effect.orDie(sql`COMMIT`)
    )
