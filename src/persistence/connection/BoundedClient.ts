import { channel } from "node:diagnostics_channel"
import * as PgClient from "@effect/sql-pg/PgClient"
import type * as PgConnection from "@effect/sql-pg/PgConnection"
import { Context, Effect } from "effect"
import { SqlClient, type SqlConnection, SqlError, Statement } from "effect/sql"
import { endsWithin, makeTimer, timeoutWith } from "../../runtime/Timer.ts"
import { annotateTraced } from "../../runtime/Tracing.ts"
import { type DatabaseTarget, failureAttributes, sqlState, targetAttributes } from "./DatabaseSpans.ts"
import { timedWait } from "./DatabaseTimes.ts"
import type { Connections } from "./servers/PrimaryPool.ts"

export interface StatementTimeouts {
  /** How long a statement waits for a connection. */
  readonly connectionMs: number
  /** How long a statement waits for its answer; the server's own bound has to be shorter. */
  readonly answerMs: number
}

/** Whether statements may share a connection, where each waits for the one before it: on Citus not, where any of them may wait for a server of its own. */
export interface Sharing {
  isAllowed: boolean
}

/** How long statements wait for their answers where the server's own bound was raised for them; null is the client's bound. */
export const AnswerBoundMs = Context.Reference<number | null>("gateway/persistence/AnswerBoundMs", { defaultValue: () => null })

/** Whether statements are planned for their parameters each time: a plan for any parameters of Citus asks every server. */
export const PlannedAnew = Context.Reference<boolean>("gateway/persistence/PlannedAnew", { defaultValue: () => false })

/** Whether a statement ends in a commit, and its connection is its own. */
export const EndsInCommit = Context.Reference<boolean>("gateway/persistence/EndsInCommit", { defaultValue: () => false })

/** The error of a server that became a standby, or was made read-only, under its connections. */
const READ_ONLY = "25006"

/**
 * A client on a pool in which every wait ends. A machine that vanished closes no connection, and the kernel gives up on it only after a
 * quarter of an hour. A connection that was silent for too long is used no more. The outcome of its statement is unknown then, as with
 * every connection that breaks.
 */
export const makeBoundedClient = Effect.fnUntraced(function* (
  pool: Connections,
  { answerMs, connectionMs }: StatementTimeouts,
  target: DatabaseTarget,
  sharing: Sharing = { isAllowed: true }
) {
  const timer = yield* makeTimer
  const [inTime, within] = [timeoutWith(timer), endsWithin(timer)]

  /** A connection on which nothing can be written is used no more. */
  const discarded = (connection: PgConnection.PgConnection) => (error: SqlError.SqlError) =>
    sqlState(error) === READ_ONLY ? pool.invalidate(connection) : Effect.void

  const answered =
    (connection: PgConnection.PgConnection) =>
    <A>(statement: Effect.Effect<A, SqlError.SqlError>) =>
      Effect.flatMap(AnswerBoundMs, (raised) =>
        inTime(statement, raised ?? answerMs, () =>
          Effect.andThen(pool.invalidate(connection), silent("the database did not answer", "query"))
        )
      ).pipe(Effect.tapError(explain), Effect.tapError(discarded(connection)))

  /**
   * As `answered`, for a statement that commits: it is not cancelled, and its connection is closed under it. An interruption would cancel
   * the statement, and a commit that waits for a standby would then be done without one.
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
      ).pipe(Effect.tapError(explain), Effect.tapError(discarded(connection)))

  // No names and no rows are transformed, so that the transformations that a statement brings are none.
  const connectionOf = (connection: PgConnection.PgConnection): SqlConnection.Connection => {
    const [answer, end] = [answered(connection), committed(connection)]
    const bounded = <A>(statement: Effect.Effect<A, SqlError.SqlError>) =>
      Effect.flatMap(EndsInCommit, (isEnd) => (isEnd ? end(statement) : answer(statement)))
    const sent = (text: string): string => {
      announce(connection, text)
      return text
    }
    const rows = (text: string, parameters: ReadonlyArray<unknown>, isPrepared: boolean) =>
      Effect.flatMap(PlannedAnew, (isAnew) =>
        Effect.map(bounded(connection.query(sent(text), parameters, isPrepared && !isAnew)), (result) => result.rows)
      )
    return {
      execute: (text, parameters) => rows(text, parameters, true),
      executeUnprepared: (text, parameters) => rows(text, parameters, false),
      executeRaw: (text, parameters) => bounded(connection.query(sent(text), parameters)),
      executeValues: (text, parameters) => bounded(connection.queryValues(sent(text), parameters)),
      executeValuesUnprepared: (text, parameters) => bounded(connection.queryValues(sent(text), parameters, false)),
      executeStream: (text, parameters) => connection.stream(sent(text), parameters)
    }
  }

  const connected = <R>(connection: Effect.Effect<PgConnection.PgConnection, SqlError.SqlError, R>) =>
    Effect.map(
      timedWait(inTime(connection, connectionMs, () => silent("no connection to the database became free", "connect"))),
      connectionOf
    )
  const [shared, own] = [connected(pool.get), connected(pool.reserve)]
  const acquirer = Effect.suspend(() => (sharing.isAllowed ? shared : own))

  return yield* SqlClient.make({
    driver: "pg",
    acquirer,
    borrower: (use) => Effect.scoped(Effect.flatMap(acquirer, use)),
    transactionAcquirer: own,
    prepareTransactionControls: true,
    commit,
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    compiler: PgClient.makeCompiler(),
    spanAttributes: targetAttributes(target)
  })
})

/** On the statement's own span, which is the current one only where statements pass it on. */
const explain = (error: SqlError.SqlError): Effect.Effect<void> =>
  Effect.flatMap(Statement.SpanPropagationEnabled, (isOwn) =>
    isOwn ? annotateTraced(() => failureAttributes(error)) : Effect.void
  )

/** Made where it is needed only: an error looks for its stack. */
const silent = (message: string, operation: string) =>
  Effect.suspend(() =>
    Effect.fail(
      new SqlError.SqlError({ reason: new SqlError.ConnectionError({ cause: new Error(message), message, operation }) })
    )
  )

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

interface SentStatement {
  readonly text: string
  /** Whichever it goes by: what a connection was sent before says whether it is inside a transaction. */
  readonly connection: object
}

const statements = channel("gateway/persistence/SentStatements")

/** Announces a statement to the subscribers of the channel in this process. A running gateway has none: then it costs one look. */
const announce = (connection: object, text: string): void => {
  if (statements.hasSubscribers) statements.publish({ connection, text } satisfies SentStatement)
}
