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

interface StatementTimeouts {
  /** How long a statement waits for a connection. */
  readonly connectionMs: number
  /** How long a statement waits for its result. The server's own timeout must be shorter. */
  readonly answerMs: number
}

/** Whether statements may share a connection, one waiting for another. Not on Citus, where each may wait for its own worker. */
export interface Sharing {
  isAllowed: boolean
}

/** How long statements wait for their results when the server's own timeout was raised for them; null: the client's limit. */
export const AnswerBoundMs = Context.Reference<number | null>("gateway/persistence/AnswerBoundMs", { defaultValue: () => null })

/** Whether statements are planned for their actual parameters each time, because a generic plan on Citus queries every server. */
export const PlannedAnew = Context.Reference<boolean>("gateway/persistence/PlannedAnew", { defaultValue: () => false })

/** Whether a statement ends in a commit and has its own connection. */
export const EndsInCommit = Context.Reference<boolean>("gateway/persistence/EndsInCommit", { defaultValue: () => false })

/** The error of a server that became a standby or read-only while connected. */
const READ_ONLY = "25006"

/**
 * A database client whose every wait is bounded. A machine that vanished closes no connection, and the kernel gives up on it
 * only after a quarter of an hour. A connection that did not answer in time is discarded. The outcome of its statement is then
 * unknown, as with every broken connection.
 */
export const makeBoundedClient = Effect.fnUntraced(function* (
  pool: Connections,
  { answerMs, connectionMs }: StatementTimeouts,
  target: DatabaseTarget,
  sharing: Sharing = { isAllowed: true }
) {
  const timer = yield* makeTimer
  const [inTime, within] = [timeoutWith(timer), endsWithin(timer)]

  /** Discards a connection to a server that no longer accepts writes. */
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
   * As `answered`, for a statement that commits: it is not cancelled; its connection is closed instead. An interruption would
   * cancel the statement, and a commit that waits for a standby would then complete without one.
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

  // The driver transforms neither names nor rows, so the transformations that a statement passes are ignored.
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

/** Annotates the statement's own span, which is the current one only when statements propagate it. */
const explain = (error: SqlError.SqlError): Effect.Effect<void> =>
  Effect.flatMap(Statement.SpanPropagationEnabled, (isOwn) =>
    isOwn ? annotateTraced(() => failureAttributes(error)) : Effect.void
  )

/** Created lazily, because creating an error captures the stack. */
const silent = (message: string, operation: string) =>
  Effect.suspend(() =>
    Effect.fail(
      new SqlError.SqlError({ reason: new SqlError.ConnectionError({ cause: new Error(message), message, operation }) })
    )
  )

/** PostgreSQL answers the COMMIT of a failed transaction with ROLLBACK and no error. */
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
  /** The connection that it was sent on; the statements before it show whether it is inside a transaction. */
  readonly connection: object
}

const statements = channel("gateway/persistence/SentStatements")

/** Publishes a statement to the channel's subscribers in this process. A running gateway has none, so this costs one check. */
const announce = (connection: object, text: string): void => {
  if (statements.hasSubscribers) statements.publish({ connection, text } satisfies SentStatement)
}
