import { readFile } from "node:fs/promises"
import { getCACertificates } from "node:tls"
import { Effect } from "effect"
import { DatabaseError } from "./DatabaseError.ts"
import { type DatabaseServers, databaseServers } from "./servers/DatabaseServers.ts"

/** The TLS parameters of a `postgres://` address, with PostgreSQL's own meaning. */
interface DatabaseRoute extends DatabaseServers {
  readonly encryption: Encryption
  /** A PEM file of certificates, or `system`; null: the authorities that the runtime includes. */
  readonly authorities: string | null
}

/**
 * `preferred` falls back to plain text when the server has no TLS. `unverified` accepts any certificate. `authority` verifies
 * the signer, `full` also the host name.
 */
type Encryption = "none" | "preferred" | "unverified" | "authority" | "full"

const modes: Readonly<Record<string, Encryption>> = {
  disable: "none",
  allow: "preferred",
  prefer: "preferred",
  require: "unverified",
  "verify-ca": "authority",
  "verify-full": "full"
}
const known: ReadonlyArray<string> = ["sslmode", "sslrootcert"]

/** Parses an address, or returns why it is refused: a parameter about TLS is never ignored. */
export const databaseRoute = (text: string): DatabaseRoute | string => {
  const named = databaseServers(text)
  if (named === undefined) return "is no postgres:// address"
  if (typeof named === "string") return named
  const { searchParams } = named.first
  const last = (name: string): string | undefined => searchParams.getAll(name).at(-1) || undefined
  const unknown = [...new Set(searchParams.keys())].filter((name) => name.startsWith("ssl") && !known.includes(name))
  if (unknown.length > 0) return `has ${unknown.join(", ")}: of the parameters for TLS only ${known.join(" and ")} are known`
  const mode = last("sslmode")
  const encryption = mode === undefined ? "none" : Object.hasOwn(modes, mode) ? modes[mode] : undefined
  if (encryption === undefined) return `has an sslmode that is none of ${Object.keys(modes).join(", ")}`
  const authorities = last("sslrootcert") ?? null
  return {
    ...named,
    // Naming an authority implies that the server must be verified.
    encryption: encryption === "unverified" && authorities !== null ? "authority" : encryption,
    authorities
  }
}

/** Whether the connection is protected against a man in the middle. */
export const isVerified = ({ encryption }: DatabaseRoute): boolean => encryption === "authority" || encryption === "full"

/** Parses an address, and fails when it is invalid. */
export const usableRoute = (url: string): Effect.Effect<DatabaseRoute, DatabaseError> => {
  const route = databaseRoute(url)
  return typeof route === "string" ? new DatabaseError(`DATABASE_URL ${route}`) : Effect.succeed(route)
}

/** How the driver encrypts the connection; undefined when the driver decides, which then verifies at least as strictly. */
export const databaseTls = Effect.fnUntraced(function* (way: DatabaseRoute) {
  switch (way.encryption) {
    case "none":
      return false
    case "preferred":
      return undefined
    case "unverified":
      return { rejectUnauthorized: false }
    case "authority":
      return { ...(yield* authoritiesOf(way)), checkServerIdentity: () => undefined }
    case "full":
      return yield* authoritiesOf(way)
  }
})

const authoritiesOf = Effect.fnUntraced(function* ({ authorities }: DatabaseRoute) {
  if (authorities === null) return {}
  if (authorities === "system") return { ca: getCACertificates("system") }
  const ca = yield* Effect.tryPromise({
    try: () => readFile(authorities, "utf8"),
    catch: () => new DatabaseError(`the sslrootcert of DATABASE_URL, ${authorities}, cannot be read`)
  })
  if (!ca.includes("-----BEGIN CERTIFICATE-----"))
    return yield* new DatabaseError(`the sslrootcert of DATABASE_URL, ${authorities}, holds no certificate`)
  return { ca }
})
