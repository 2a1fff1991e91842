import { readFile } from "node:fs/promises"
import { type ConnectionOptions, getCACertificates } from "node:tls"
import { Effect, Option } from "effect"
import { DatabaseError } from "./DatabaseError.ts"

/** What a `postgres://` address says about the connection to its server, with PostgreSQL's own meaning of the parameters. */
export interface DatabaseRoute {
  /** Where the driver connects: a parameter names another host than the authority does. A path is a socket of this machine. */
  readonly host: string
  readonly encryption: Encryption
  /** A file of certificates in PEM, or `system`; null: the authorities that the runtime brings. */
  readonly authorities: string | null
}

/**
 * `preferred` falls back to plain text where the server has no TLS. `unverified` believes any certificate. `authority` verifies who signed it,
 * `full` also that it is for this host.
 */
export type Encryption = "none" | "preferred" | "unverified" | "authority" | "full"

const modes: Readonly<Record<string, Encryption>> = {
  disable: "none",
  allow: "preferred",
  prefer: "preferred",
  require: "unverified",
  "verify-ca": "authority",
  "verify-full": "full"
}
const known: ReadonlyArray<string> = ["sslmode", "sslrootcert"]

/** What the address says, or why it is refused: a parameter about TLS is never ignored. */
export const databaseRoute = (text: string): DatabaseRoute | string => {
  const url = new URL(text)
  const last = (name: string): string | undefined => url.searchParams.getAll(name).at(-1) || undefined
  const unknown = [...new Set(url.searchParams.keys())].filter((name) => name.startsWith("ssl") && !known.includes(name))
  if (unknown.length > 0) return `has ${unknown.join(", ")}: of the parameters for TLS only ${known.join(" and ")} are known`
  const mode = last("sslmode")
  const encryption = mode === undefined ? "none" : Object.hasOwn(modes, mode) ? modes[mode] : undefined
  if (encryption === undefined) return `has an sslmode that is none of ${Object.keys(modes).join(", ")}`
  const host = Option.getOrUndefined(decodeHost(url.hostname))
  if (host === undefined) return "has a host that cannot be read"
  const authorities = last("sslrootcert") ?? null
  return {
    host: last("host") ?? host.replace(/^\[(.*)\]$/, "$1"),
    // Whoever names an authority means to be protected by it.
    encryption: encryption === "unverified" && authorities !== null ? "authority" : encryption,
    authorities
  }
}

const decodeHost = Option.liftThrowable(decodeURIComponent)

/** Whether nobody in between can read the traffic or pretend to be the server. */
export const isVerified = ({ encryption }: DatabaseRoute): boolean => encryption === "authority" || encryption === "full"

/** How the driver encrypts the connection; undefined where the address leaves it to the driver, which then verifies no less. */
export const databaseTls = Effect.fnUntraced(function* (
  url: string
): Effect.fn.Return<ConnectionOptions | boolean | undefined, DatabaseError> {
  const way = databaseRoute(url)
  if (typeof way === "string") return yield* new DatabaseError({ message: `DATABASE_URL ${way}` })
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

const authoritiesOf = Effect.fnUntraced(function* ({
  authorities
}: DatabaseRoute): Effect.fn.Return<ConnectionOptions, DatabaseError> {
  if (authorities === null) return {}
  if (authorities === "system") return { ca: getCACertificates("system") }
  const ca = yield* Effect.tryPromise({
    try: () => readFile(authorities, "utf8"),
    catch: () => new DatabaseError({ message: `the sslrootcert of DATABASE_URL, ${authorities}, cannot be read` })
  })
  if (!ca.includes("-----BEGIN CERTIFICATE-----"))
    return yield* new DatabaseError({ message: `the sslrootcert of DATABASE_URL, ${authorities}, holds no certificate` })
  return { ca }
})
