import { Context, Deferred, Effect, Fiber, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { advisoryLocks } from "../connection/AdvisoryLocks.ts"
import { AnswerBoundMs } from "../connection/BoundedClient.ts"
import { DatabaseError } from "../connection/DatabaseError.ts"
import { isLockTimeout } from "../connection/StepBatch.ts"

/**
 * One attempt to take the lock. A waiting statement has a snapshot, and a concurrent index build waits for every older
 * snapshot: an endless wait for the index's builder would block it for ever, and no deadlock detector notices.
 */
const TRY_MS = 1_000
/** Ten minutes in total. */
const TRIES = 600
export const MIGRATION_MS = TRY_MS * TRIES
/** How often the lock is tried. */
export const MigrationTries = Context.Reference<number>("gateway/persistence/MigrationTries", { defaultValue: () => TRIES })

/** The session that holds the lock sends signs of life. Without one for this long, the server ends it, and the lock is released. */
const SIGN_EVERY = "1 second"
const SIGN_WITHIN_MS = 10_000
const SILENT_MS = 60_000

class MigrationUnderWay extends Schema.TaggedError<MigrationUnderWay>()("MigrationUnderWay", {}) {}

/** A transaction that holds the migrations' lock: one process migrates at a time, and the others wait for it. */
export const inMigrationTransaction = Effect.fnUntraced(function* <A, E, R>(
  sql: SqlClient.SqlClient,
  body: Effect.Effect<A, E, R>
) {
  const tries = yield* MigrationTries
  let isTold = false
  const tellOnce = Effect.suspend(() => {
    if (isTold) return Effect.void
    isTold = true
    return Effect.flatMap(holders(sql), (note) =>
      Effect.annotateLogs(Effect.logInfo("another process migrates the database; this one waits for it"), { note })
    )
  })
  const tried = sql
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
    .pipe(Effect.tapError((error) => (isUnderWay(error) ? tellOnce : Effect.void)))
  return yield* tried.pipe(
    Effect.retry({ times: tries, while: isUnderWay }),
    Effect.catchIf(isUnderWay, () =>
      Effect.flatMap(holders(sql), (who) =>
        Effect.fail(
          new DatabaseError(
            `another process has been migrating the database for ten minutes: look at its log. Its session is ${who}`
          )
        )
      )
    )
  )
})

/** The holders of the lock, for people, so that a session whose process is gone can be ended (`pg_terminate_backend`). */
const holders = (sql: SqlClient.SqlClient) =>
  Effect.map(
    sql<{ who: string }>`
      SELECT concat('process ', l.pid, ' of ' || a.usename, ' from ' || host(a.client_addr),
        ' since ' || to_char(a.xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) AS who
      FROM pg_locks l LEFT JOIN pg_stat_activity a USING (pid)
      WHERE l.locktype = 'advisory' AND l.granted AND l.classid = 0 AND l.objid = ${advisoryLocks.migrations}
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    (rows) => rows.map(({ who }) => who).join(", ") || "gone by now"
    // Waiting continues even when the holders cannot be read.
  ).pipe(Effect.catchTag("SqlError", () => Effect.succeed("not known: the server did not say")))

/**
 * Runs `body` outside any transaction while another transaction holds the lock. That one has no snapshot, so it delays no index
 * build. When its session ends, the body is interrupted, because another process may be migrating from then on.
 */
export const withMigrationLock = <A, E, R>(
  sql: SqlClient.SqlClient,
  body: Effect.Effect<A, E, R>
): Effect.Effect<A, E | SqlError.SqlError | DatabaseError, R> =>
  Effect.gen(function* () {
    const taken = yield* Deferred.make<void>()
    // Not a SELECT, which as a session's last statement would keep its snapshot until the next one.
    const sign = Effect.provideService(
      sql.unsafe(`SET LOCAL idle_in_transaction_session_timeout = ${SILENT_MS}`),
      AnswerBoundMs,
      SIGN_WITHIN_MS
    )
    const holder = yield* Effect.forkScoped(
      inMigrationTransaction(
        sql,
        Effect.gen(function* () {
          yield* sign
          yield* Deferred.succeed(taken, undefined)
          return yield* Effect.forever(Effect.delay(sign, SIGN_EVERY))
        })
      )
    )
    yield* Effect.raceFirst(Deferred.await(taken), Fiber.join(holder))
    const lost = Effect.andThen(Fiber.await(holder), new DatabaseError(LOST))
    return yield* Effect.raceFirst(body, lost)
  }).pipe(Effect.scoped)

const LOST =
  "the session that had the lock of the migrations has ended, and another process may be migrating by now: start again, what is done stays done"

const isUnderWay = (error: unknown): error is MigrationUnderWay => error instanceof MigrationUnderWay
