import { Deferred, Effect, Fiber, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { advisoryLocks } from "./AdvisoryLocks.ts"
import { DatabaseError } from "./DatabaseError.ts"
import { isLockTimeout } from "./StepBatch.ts"

/**
 * One try to take the lock. A statement that waits has a snapshot, and an index that is built concurrently waits for every older snapshot: whoever
 * waited without an end for the process that builds it would hold it up for ever, and no deadlock detector sees that.
 */
const TRY_MS = 1_000
/** Ten minutes in all. */
const TRIES = 600
export const MIGRATION_MS = TRY_MS * TRIES

class MigrationUnderWay extends Schema.TaggedError<MigrationUnderWay>()("MigrationUnderWay", {}) {}

/** One process migrates at a time, the others wait for it: a transaction that has the migrations' lock. */
export const inMigrationTransaction = <A, E, R>(
  sql: SqlClient.SqlClient,
  body: Effect.Effect<A, E, R>
): Effect.Effect<A, E | SqlError.SqlError | DatabaseError, R> =>
  sql
    .withTransaction(
      Effect.gen(function* () {
        yield* sql`SELECT set_config('lock_timeout', ${`${TRY_MS}ms`}, true)`
        yield* sql`SELECT pg_advisory_xact_lock(${advisoryLocks.migrations})`.pipe(
          Effect.catchTag("SqlError", (error) => Effect.fail(isLockTimeout(error) ? new MigrationUnderWay() : error))
        )
        yield* sql`SELECT set_config('lock_timeout', ${`${MIGRATION_MS}ms`}, true), set_config('statement_timeout', ${`${MIGRATION_MS}ms`}, true)`
        return yield* body
      })
    )
    .pipe(
      Effect.retry({ times: TRIES, while: isUnderWay }),
      Effect.catchIf(isUnderWay, () =>
        Effect.fail(
          new DatabaseError({ message: "another process has been migrating the database for ten minutes: look at its log" })
        )
      )
    )

/** Runs `body` outside of any transaction, while one beside it has the lock. It has no snapshot, so that it holds up no index. */
export const withMigrationLock = <A, E, R>(
  sql: SqlClient.SqlClient,
  body: Effect.Effect<A, E, R>
): Effect.Effect<A, E | SqlError.SqlError | DatabaseError, R> =>
  Effect.gen(function* () {
    const taken = yield* Deferred.make<void>()
    const holder = yield* Effect.forkScoped(
      inMigrationTransaction(
        sql,
        Effect.gen(function* () {
          // No SELECT: as the last statement of a session it keeps its snapshot until the next one.
          yield* sql`SET LOCAL idle_in_transaction_session_timeout = 0`
          yield* Deferred.succeed(taken, undefined)
          return yield* Effect.never
        })
      )
    )
    yield* Effect.raceFirst(Deferred.await(taken), Fiber.join(holder))
    return yield* body
  }).pipe(Effect.scoped)

const isUnderWay = (error: unknown): error is MigrationUnderWay => error instanceof MigrationUnderWay
