import type { SqlError } from "effect/sql"
import { databaseRoute } from "./DatabaseTls.ts"

const DEFAULT_PORT = 5432

/** Where statements go, as spans name it by the semantic conventions. */
export interface DatabaseTarget {
  readonly host: string
  readonly port: number
  readonly database: string
}

/** Of an address without its user, its password and its parameters. */
export const targetOf = (address: string): DatabaseTarget => {
  const { hostname, pathname, port, username } = new URL(address)
  const route = databaseRoute(address)
  return {
    host: typeof route === "string" ? hostname : route.host,
    port: port === "" ? DEFAULT_PORT : Number(port),
    // PostgreSQL's own default is the name of the user.
    database: decodeURIComponent(pathname.slice(1)) || decodeURIComponent(username)
  }
}

export const targetAttributes = ({ database, host, port }: DatabaseTarget): ReadonlyArray<readonly [string, string | number]> => [
  ["db.system.name", "postgresql"],
  ["db.namespace", database],
  ["server.address", host],
  ["server.port", port]
]

/** Five characters, such as 40P01. */
const SQLSTATE = /^[0-9A-Z]{5}$/

/** Why a statement failed: PostgreSQL's own code where it answered, and else the kind of what went wrong. */
export const failureAttributes = ({ reason }: SqlError.SqlError): Readonly<Record<string, string>> => {
  const { cause } = reason
  const code = typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined
  return typeof code === "string" && SQLSTATE.test(code)
    ? { "db.response.status_code": code, "error.type": code }
    : { "error.type": reason._tag }
}
