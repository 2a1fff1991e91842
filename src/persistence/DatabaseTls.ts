import { readFile } from "node:fs/promises"
import { type ConnectionOptions, getCACertificates } from "node:tls"
import { Effect } from "effect"
import { DatabaseError } from "./DatabaseError.ts"
import { type DatabaseWay, databaseWay } from "./DatabaseUrl.ts"

/** How the driver is to encrypt the way to a server; undefined where the address leaves it to the driver, which then verifies no less. */
export const databaseTls = Effect.fnUntraced(function* (
  url: string
): Effect.fn.Return<ConnectionOptions | boolean | undefined, DatabaseError> {
  const way = databaseWay(url)
  if (typeof way === "string") return yield* new DatabaseError({ message: `DATABASE_URL ${way}` })
  switch (way.encryption) {
    case "none":
      return false
    case "asked":
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
}: DatabaseWay): Effect.fn.Return<ConnectionOptions, DatabaseError> {
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
