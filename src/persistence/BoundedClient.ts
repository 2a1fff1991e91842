import * as PgClient from "@effect/sql-pg/PgClient"
import type * as PgConnection from "@effect/sql-pg/PgConnection"
import * as PgPool from "@effect/sql-pg/PgPool"
import { Context, Effect } from "effect"
import { SqlClient, type SqlConnection, SqlError, Statement } from "effect/sql"
import { endsWithin, makeTimer, timeoutWith } from "../runtime/Timer.ts"
import { annotateTraced } from "../runtime/Tracing.ts"
import { type DatabaseTarget, failureAttributes, targetAttributes } from "./DatabaseSpans.ts"

export interface StatementTimeouts {
  /** How long a statement waits for a connection. */
  readonly connectionMs: number
  /** How long a statement waits for its answer; the server's own bound has to be shorter. */
  readonly answerMs: number
}

/** How long statements wait for their answers where the server's own bound was raised for them; null is the client's bound. */
export const AnswerBoundMs = Context.Reference<number | null>("gateway/persistence/AnswerBoundMs", { defaultValue: () => null })

/** Whether a statement ends in a commit, and its connection is its own. */
export const EndsInCommit = Context.Reference<boolean>("gateway/persistence/EndsInCommit", { defaultValue: () => false })

/**
 * A client on a pool in which every wait ends, whatever became of the server: a machine that vanished closes no connection, and the
 * kernel gives up on it after a quarter of an hour. A connection that was silent for too long is used no more. What became of its
 * statement is not known then, as with every connection that breaks.
 */
export const makeBoundedClient = Effect.fnUntraced(function* (
  config: PgPool.Config,
  { answerMs, connectionMs }: StatementTimeouts,
  target: DatabaseTarget
) {
  const pool = yield* PgPool.make(config)
  const timer = yield* makeTimer
  const [inTime, within] = [timeoutWith(timer), endsWithin(timer)]

  const answered =
    (connection: PgConnection.PgConnection) =>
    <A>(statement: Effect.Effect<A, SqlError.SqlError>) =>
      Effect.flatMap(AnswerBoundMs, (raised) =>
        inTime(statement, raised ?? answerMs, () =>
          Effect.andThen(pool.invalidate(connection), silent("the database did not answer", "query"))
        )
      ).pipe(Effect.tapError(explained))

  /**
   * As `answered`, for what ends in a commit: it is left alone, and its connection is closed under it. Whoever interrupts a statement cancels it,
   * and a commit that waits for a standby is then done without one.
   */
  const committed =
    (connection: PgConnection.PgConnection) =>
    <A>(statement: Effect.Effect<A, SqlError.SqlError>) =>
      Effect.flatMap(AnswerBoundMs, (raised) =>
        Effect.flatMap(Effect.forkDetach(statement, { startImmediately: true }), (fiber) =>
          within(
            fiber,
            raised ?? answerMs,
            Effect.andThen(pool.invalidate(connection), silent("the database did not answer", "query"))
          )
        )
      ).pipe(Effect.tapError(explained))

  // No names and no rows are transformed, so that the transformations that a statement brings are none.
  const connectionOf = (connection: PgConnection.PgConnection): SqlConnection.Connection => {
    const [answer, end] = [answered(connection), committed(connection)]
    const bounded = <A>(statement: Effect.Effect<A, SqlError.SqlError>) =>
      Effect.flatMap(EndsInCommit, (isEnd) => (isEnd ? end(statement) : answer(statement)))
    const rows = (text: string, parameters: ReadonlyArray<unknown>, isPrepared: boolean) =>
      Effect.map(bounded(connection.query(text, parameters, isPrepared)), (result) => result.rows)
    return {
      execute: (text, parameters) => rows(text, parameters, true),
      executeUnprepared: (text, parameters) => rows(text, parameters, false),
      executeRaw: (text, parameters) => bounded(connection.query(text, parameters)),
      executeValues: (text, parameters) => bounded(connection.queryValues(text, parameters)),
      executeValuesUnprepared: (text, parameters) => bounded(connection.queryValues(text, parameters, false)),
      executeStream: (text, parameters) => connection.stream(text, parameters)
    }
  }

  const connected = <R>(connection: Effect.Effect<PgConnection.PgConnection, SqlError.SqlError, R>) =>
    Effect.map(
      Effect.timeoutOrElse(connection, {
        duration: connectionMs,
        orElse: () => silent("no connection to the database became free", "connect")
      }),
      connectionOf
    )
  const acquirer = connected(pool.get)

  return yield* SqlClient.make({
    driver: "pg",
    acquirer,
    borrower: (use) => Effect.scoped(Effect.flatMap(acquirer, use)),
    transactionAcquirer: connected(pool.reserve),
    prepareTransactionControls: true,
    commit,
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    compiler: PgClient.makeCompiler(),
    spanAttributes: targetAttributes(target)
  })
})

/** On the statement's own span, which is the current one only where statements pass it on. */
const explained = (error: SqlError.SqlError): Effect.Effect<void> =>
  Effect.flatMap(Statement.SpanPropagationEnabled, (isOwn) =>
    isOwn ? annotateTraced(() => failureAttributes(error)) : Effect.void
  )

const silent = (message: string, operation: string) =>
  Effect.fail(new SqlError.SqlError({ reason: new SqlError.ConnectionError({ cause: new Error(message), message, operation }) }))

/** PostgreSQL answers the COMMIT of a transaction that failed with ROLLBACK, and no error. */
const commit = (connection: SqlConnection.Connection): Effect.Effect<void, SqlError.SqlError> =>
  Effect.flatMap(Effect.provideService(connection.executeRaw("COMMIT", []), EndsInCommit, true), (result) =>
    typeof result === "object" && result !== null && "command" in result && result.command === "ROLLBACK"
      ? Effect.fail(
          new SqlError.SqlError({
            reason: new SqlError.UnknownError({
              cause: result.command,
              message: "the transaction was rolled back",
              operation: "commit"
            })
          })
        )
      : Effect.void
  )
