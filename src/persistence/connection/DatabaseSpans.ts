import type { SqlError } from "effect/sql"
import type { DatabaseServers } from "./servers/DatabaseServers.ts"

/** The target of statements in spans, named by the semantic conventions. */
export interface DatabaseTarget {
  readonly host: string
  readonly port: number
  readonly database: string
}

/** The target of an address, without user, password and parameters; of several servers the first. */
export const targetOf = ({ first, servers }: DatabaseServers): DatabaseTarget => ({
  ...servers[0],
  // PostgreSQL's default is the user's name.
  database: decodeURIComponent(first.pathname.slice(1)) || decodeURIComponent(first.username)
})

export const targetAttributes = ({ database, host, port }: DatabaseTarget): ReadonlyArray<readonly [string, string | number]> => [
  ["db.system.name", "postgresql"],
  ["db.namespace", database],
  ["server.address", host],
  ["server.port", port]
]

/** Five characters, such as 40P01. */
const SQLSTATE = /^[0-9A-Z]{5}$/

/** PostgreSQL's own code, if it answered. */
export const sqlState = ({ reason }: SqlError.SqlError): string | undefined => {
  const { cause } = reason
  const code = typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined
  return typeof code === "string" && SQLSTATE.test(code) ? code : undefined
}

/** Why a statement failed: PostgreSQL's own code if it answered, otherwise the kind of error. */
export const failureAttributes = (error: SqlError.SqlError): Readonly<Record<string, string>> => {
  const code = sqlState(error)
  return code === undefined ? { "error.type": error.reason._tag } : { "db.response.status_code": code, "error.type": code }
}
