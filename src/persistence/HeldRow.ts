import { Effect, Option } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

/**
 * Statements that share a connection wait for each other: one that may wait for a row is given a connection to itself. Inside
 * a transaction it stays there: on another connection it would wait for what its own transaction locked.
 */
export const apart =
  (sql: SqlClient.SqlClient) =>
  <A, E>(statement: Effect.Effect<A, E>): Effect.Effect<A, E | SqlError.SqlError> =>
    Effect.flatMap(Effect.serviceOption(sql.transactionService), (transaction) =>
      Option.isSome(transaction)
        ? statement
        : Effect.scoped(
            Effect.flatMap(sql.reserve, (connection) => Effect.provideService(statement, sql.transactionService, [connection, 0]))
          )
    )

/** Somebody else held a row for as long as anybody waits for one: nothing was committed. */
export const wasHeld = (error: { readonly _tag: string } | SqlError.SqlError): boolean =>
  error._tag === "SqlError" && "reason" in error && error.reason._tag === "LockTimeoutError"
