import { Effect } from "effect"
import { SqlError } from "effect/sql"

/** The driver's message says what failed; its cause says why. */
export const reasonOf = ({ cause, message }: SqlError.SqlErrorReason): string => {
  const said = message ?? "the database gave no reason"
  const line = cause instanceof Error && cause.message !== said && cause.message !== "" ? `${said}: ${cause.message}` : said
  return line.trim().split("\n", 1).join("")
}

/** Fails as if no connection could be had. */
export const refused = (message: string) =>
  Effect.fail(
    new SqlError.SqlError({ reason: new SqlError.ConnectionError({ cause: new Error(message), message, operation: "connect" }) })
  )
