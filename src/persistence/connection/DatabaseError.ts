import { Cause, Effect, Option } from "effect"
import { SqlError } from "effect/sql"
import { MessageError } from "../../runtime/MessageError.ts"
import { sqlState } from "./DatabaseSpans.ts"
import { reasonOf } from "./servers/FailureText.ts"

/** One line for the person who starts the gateway: the database cannot be reached, or is not one of ours. */
export class DatabaseError extends MessageError("DatabaseError") {
  /** Turns a statement's failure into `<doing>: <the database's own words>`. */
  static readonly explain =
    (doing: string) =>
    <A, R>(effect: Effect.Effect<A, SqlError.SqlError | DatabaseError, R>): Effect.Effect<A, DatabaseError, R> =>
      Effect.catchTag(effect, "SqlError", ({ reason }) => new DatabaseError(`cannot ${doing}: ${reasonOf(reason)}`))
}

/** A corrupt page or index, an I/O error, a missing file. */
const DAMAGED = ["XX001", "XX002", "58030", "58P01"]

/** Whether the database cannot read one of its files, while others may be readable. */
export const isDamage = (error: unknown): error is SqlError.SqlError =>
  SqlError.isSqlError(error) && DAMAGED.includes(sqlState(error) ?? "")

/** Read-only, rolled back for another, short of something, shutting down, locked, or its connection lost. */
const UNABLE = /^(08|25006|40|53|57|55P03)/

/** Whether the server's state is why, and no mistake of the program. */
const isOfServer = (error: unknown): error is SqlError.SqlError =>
  isDamage(error) ||
  (SqlError.isSqlError(error) && (error.reason._tag === "ConnectionError" || UNABLE.test(sqlState(error) ?? "")))

/** The database's own words, if its state is why something failed. */
export const serverFailureIn = (cause: Cause.Cause<unknown>): Option.Option<string> =>
  Option.map(Option.liftPredicate(isOfServer)(Cause.squash(cause)), ({ reason }) => reasonOf(reason))
