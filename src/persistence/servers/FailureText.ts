import type { SqlError } from "effect/sql"

/** The driver's message says what failed, its cause says why. */
export const reasonOf = ({ cause, message }: SqlError.SqlErrorReason): string => {
  const said = message ?? "the database gave no reason"
  const line = cause instanceof Error && cause.message !== said && cause.message !== "" ? `${said}: ${cause.message}` : said
  return line.trim().split("\n", 1).join("")
}
