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

/** The database's own words, if damage is why something failed. */
export const damageIn = (cause: Cause.Cause<unknown>): Option.Option<string> =>
  Option.map(Option.liftPredicate(isDamage)(Cause.squash(cause)), ({ reason }) => reasonOf(reason))
