import { Effect, Schema } from "effect"
import type { SqlError } from "effect/sql"
import { reasonOf } from "./servers/FailureText.ts"

/** One line for the person who starts the gateway: the database cannot be reached or is not one of ours. Nothing branches on its kind. */
export class DatabaseError extends Schema.TaggedError<DatabaseError>()("DatabaseError", { message: Schema.String }) {
  /** A statement's failure becomes `<doing>: <the database's own words>`. */
  static readonly explain =
    (doing: string) =>
    <A, R>(effect: Effect.Effect<A, SqlError.SqlError | DatabaseError, R>): Effect.Effect<A, DatabaseError, R> =>
      Effect.catchTag(effect, "SqlError", ({ reason }) => new DatabaseError({ message: `cannot ${doing}: ${reasonOf(reason)}` }))
}
