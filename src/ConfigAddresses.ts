import { Redacted } from "effect"
import { boolean, collectorUrl, isLoopback, isLoopbackHost, postgresUrl, type Reader, redisUrl, text } from "./ConfigRules.ts"
import { databaseRoute, isVerified } from "./persistence/connection/DatabaseTls.ts"

export const databasesOf = (read: Reader, mistakes: Array<string>) => {
  const isMeant = read("DATABASE_INSECURE", "false", boolean)
  const databases = {
    /** Null: the embedded PostgreSQL under `dataDir`. */
    databaseUrl: databaseUrlOf(read, mistakes, "DATABASE_URL", isMeant),
    /** The same database as its owner, for `migrate` alone; null: the role of `databaseUrl`, or another tool, migrates. */
    migrationDatabaseUrl: databaseUrlOf(read, mistakes, "MIGRATION_DATABASE_URL", isMeant),
    /** As the image and the units set it: an embedded database, new and empty, is none to serve tenants from. */
    isProduction: read("NODE_ENV", "development", text) === "production"
  }
  if (databases.migrationDatabaseUrl !== null && databases.databaseUrl === null)
    mistakes.push("MIGRATION_DATABASE_URL stands beside DATABASE_URL: set it, too")
  return databases
}

/** The connection to a database on another machine must be encrypted and authenticated. */
const databaseUrlOf = (read: Reader, mistakes: Array<string>, name: string, isMeant: boolean) => {
  const url = read.optional(name, postgresUrl)
  const way = url === null ? null : databaseRoute(Redacted.value(url))
  if (way === null) return null
  if (typeof way === "string") mistakes.push(`${name} ${way}`)
  else if (!isMeant && !isVerified(way) && !way.servers.every(({ host }) => isThisMachine(host)))
    mistakes.push(
      `${name} leads to another machine without TLS and a verified certificate: give it sslmode=verify-full, and sslrootcert=FILE for an authority of your own, or set DATABASE_INSECURE=true`
    )
  return url
}

/** No host at all means this machine, as does a path, which is a socket's. */
const isThisMachine = (host: string): boolean => host === "" || host.startsWith("/") || isLoopbackHost(host)

export const redisUrlOf = (read: Reader, mistakes: Array<string>) => {
  const url = read.optional("REDIS_URL", redisUrl)
  const isMeant = read("REDIS_INSECURE", "false", boolean)
  if (url !== null && !isMeant) {
    const { hostname, protocol } = new URL(Redacted.value(url))
    if (protocol === "redis:" && !isThisMachine(hostname))
      mistakes.push("REDIS_URL takes its password to another machine in plain text: make it rediss:, or set REDIS_INSECURE=true")
  }
  return url
}

/** The exporters of each signal read them, including those of a signal that a later release may add. */
const COLLECTORS_HEADERS = /^OTEL_(\w+_)?HEADERS$/

/** The export to a collector contains no secret, but the collector's own credentials are one. */
export const collector = (read: Reader, mistakes: Array<string>, signal: string) => {
  const url = read.optional(`${signal}_ENDPOINT`, collectorUrl)
  if (url === null || !isPlain(url)) return url
  const secret = hasUser(url) ? "its own user and password" : read.named(COLLECTORS_HEADERS)
  if (secret !== undefined)
    mistakes.push(`${signal}_ENDPOINT takes ${secret} to another machine in plain text: give it an https address`)
  return url
}

const hasUser = (url: string): boolean => new URL(url).username !== "" || new URL(url).password !== ""

const isPlain = (url: string): boolean => new URL(url).protocol === "http:" && !isLoopback(url)

/**
 * Whether a development gateway must not use what a setting names: a database or an account that is not its own, even if it is
 * reached through this machine, or the cache of other nodes. `accounts` are the prefixes of the providers' settings.
 */
export const isRealPart = (name: string, value: string, accounts: ReadonlyArray<string>): boolean => {
  if (value === "") return false
  if (name === "REDIS_URL") return !URL.canParse(value) || !isThisMachine(new URL(value).hostname)
  return name === "DATABASE_URL" || name === "MIGRATION_DATABASE_URL" || accounts.some((account) => name.startsWith(account))
}
