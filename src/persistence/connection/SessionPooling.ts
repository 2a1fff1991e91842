import { Context, Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { Connections } from "./servers/PrimaryPool.ts"

/**
 * Whether there is a connection pooler between the gateway and the server. It may run each transaction in another session of
 * the server, so session state is ours only inside a transaction.
 */
export const SessionPooling = Context.Reference<Effect.Effect<boolean, SqlError.SqlError>>("gateway/persistence/SessionPooling", {
  defaultValue: () => Effect.succeed(false)
})

/** A server reports the process id of the session; a pooler reports another one. */
export const isBehindPooler = (connections: Connections): Effect.Effect<boolean, SqlError.SqlError> =>
  Effect.scoped(
    Effect.flatMap(connections.get, (connection) =>
      Effect.map(
        connection.query("SELECT pg_backend_pid() AS pid", [], false),
        ({ rows: [row] }) => row?.["pid"] !== connection.processId
      )
    )
  )

/** A session of the server for as long as the scope lives. */
interface OwnSession {
  readonly ask: (text: string, parameters?: ReadonlyArray<unknown>) => Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>
  /** The function for advisory locks that last as long as the session is ours. */
  readonly tryLock: "pg_try_advisory_lock" | "pg_try_advisory_xact_lock"
}

/** Behind a pooler, the session of one long transaction that writes nothing. */
export const ownSession = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const isPooled = yield* yield* SessionPooling
  const connection = yield* sql.reserve
  const ask: OwnSession["ask"] = (text, parameters = []) => connection.execute(text, parameters, undefined)
  if (!isPooled) return { ask, tryLock: "pg_try_advisory_lock" } satisfies OwnSession
  yield* Effect.acquireRelease(ask("BEGIN"), () => Effect.exit(ask("ROLLBACK")))
  yield* ask("SET LOCAL idle_in_transaction_session_timeout = 0")
  // A transaction sees other sessions' activity in one snapshot, which has to be cleared before each read.
  const fresh: OwnSession["ask"] = (text, parameters) =>
    Effect.andThen(ask("SELECT pg_stat_clear_snapshot()"), ask(text, parameters))
  return { ask: fresh, tryLock: "pg_try_advisory_xact_lock" } satisfies OwnSession
})
