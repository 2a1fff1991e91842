import { randomBytes } from "node:crypto"
import { readdir, readFile, rm } from "node:fs/promises"
import { basename, dirname, join, resolve } from "node:path"
import type { PgClient } from "@effect/sql-pg"
import { Effect, Redacted } from "effect"
import { expect, inject } from "vitest"
import type { TestProject } from "vitest/node"
import type { EmbeddedDatabase } from "../../src/persistence/postgres/EmbeddedPostgres.ts"
import { EmbeddedPostgres } from "../../src/persistence/postgres/EmbeddedPostgres.ts"
import { citusUrl, freshCitusDatabase, removeCitusDatabases } from "./CitusDatabase.ts"
import { databaseFolder, databaseFolders } from "./DatabaseFolder.ts"
import { openSession, type ServerAddress, urlOf, withSession } from "./DatabaseSession.ts"

type Coordinates = Omit<EmbeddedDatabase, "password" | "startedByUs"> & { readonly password: string }

declare module "vitest" {
  export interface ProvidedContext {
    /** The data folder of the run's server. */
    postgres: string
  }
}

/** A database of one test. Nobody removes it: it goes after its test file, or with the whole server. */
export interface FreshDatabase extends ServerAddress {
  readonly url: string
}

const PREFIX = "payment-gateway-test-"
const TEMPLATE = "gateway_template"

/** Found or started, and made or found: this process need not ask again. */
let server: Promise<Coordinates> | undefined
let template: Promise<void> | undefined
/** For what this process makes and drops: a session for each of its databases would be one more of the server's processes. */
let session: Promise<PgClient.PgClient> | undefined
/** What this process made for a test file, until it makes one for another. */
const made = { file: "", databases: new Array<string>() }

/** vitest's globalSetup: one real PostgreSQL for the run, which the first test that needs it starts. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await removeLeftovers()
  const dataDir = join(databaseFolder(), `${PREFIX}${process.pid}-${randomBytes(6).toString("hex")}`)
  project.provide("postgres", dataDir)
  return async () => {
    await removeDataDir(dataDir)
    await removeCitusDatabases(basename(dataDir))
  }
}

/** Whichever process comes first starts it, and the others wait for that. */
const running = async (dataDir: string): Promise<Coordinates> => {
  const { password, startedByUs, ...rest } = await Effect.runPromise(EmbeddedPostgres.ensureRunning(dataDir, "off"))
  const found = { ...rest, password: Redacted.value(password) }
  if (startedByUs) await spared(found)
  return found
}

/** No row lives long enough to be cleaned up after, and a checkpoint saves nothing that is kept; the key of the password is for nobody. */
const spared = (server: Coordinates): Promise<void> =>
  withSession(
    server,
    Effect.fnUntraced(function* (sql) {
      for (const setting of ["autovacuum = off", "checkpoint_timeout = '1h'", "max_wal_size = '8GB'"])
        yield* sql.unsafe(`ALTER SYSTEM SET ${setting}`)
      yield* sql`SELECT pg_reload_conf()`
      yield* sql`SET scram_iterations = 1`
      const runtime = new URL(Redacted.value(asRuntime(Redacted.make(urlOf(server)))))
      for (const { password, username } of [server, runtime]) yield* sql.unsafe(`ALTER ROLE ${username} PASSWORD '${password}'`)
    })
  )

/**
 * A database that nobody else uses. With `migrate` it is a copy of a template that the first caller of the run migrates;
 * every caller of a run passes the same migrations. With CITUS_URL a migrated one is on that cluster.
 */
export const freshDatabase = async (migrate?: (url: string) => Promise<void>): Promise<FreshDatabase> => {
  if (migrate !== undefined && citusUrl !== undefined)
    return freshCitusDatabase(new URL(citusUrl), basename(inject("postgres")), migrate)
  const found = await (server ??= running(inject("postgres")))
  if (migrate !== undefined) await (template ??= ensureTemplate(found, migrate))
  const sql = await (session ??= openSession(found))
  await dropEarlier(sql)
  const database = `test_${randomBytes(8).toString("hex")}`
  made.databases.push(database)
  // Copied as files, which costs half of what it does page by page through the log.
  const copied = migrate === undefined ? "" : `TEMPLATE ${TEMPLATE}`
  await Effect.runPromise(sql.unsafe(`CREATE DATABASE ${database} ${copied} STRATEGY file_copy`))
  return { ...found, database, url: urlOf({ ...found, database }) }
}

/** The files of a process run one after another: what an earlier one left is no longer used, unless something of it lives on. */
const dropEarlier = async (sql: PgClient.PgClient): Promise<void> => {
  const file = expect.getState().testPath ?? ""
  if (file === made.file) return
  made.file = file
  const earlier = made.databases.splice(0)
  if (earlier.length === 0) return
  const unused = await Effect.runPromise(sql<{ name: string }>`
    SELECT datname AS name FROM pg_database d WHERE datname = ANY(${earlier})
      AND NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.datid = d.oid)`)
  // Somebody may just have come back to it.
  for (const { name } of unused) await Effect.runPromise(Effect.ignore(sql.unsafe(`DROP DATABASE ${name}`)))
}

/** Stops the server of a test's data folder and removes what it wrote, wherever the cluster had to be put. */
export const removeDataDir = async (dataDir: string): Promise<void> => {
  // Where a test made the folder refusable, no server runs.
  await Effect.runPromise(Effect.ignore(EmbeddedPostgres.stop(dataDir)))
  const marker = await readFile(join(dataDir, "postgres.json"), "utf8").catch(() => undefined)
  if (marker !== undefined) {
    const home = dirname(resolve(dataDir, JSON.parse(marker).cluster))
    if (basename(home).startsWith("payment-gateway-")) await rm(home, { recursive: true, force: true })
  }
  await rm(dataDir, { recursive: true, force: true })
}

/** The same database as the role that gateways run as. */
export const asRuntime = (url: Redacted.Redacted): Redacted.Redacted => {
  const { hostname, password, pathname, port, username } = new URL(Redacted.value(url))
  const address = { host: hostname, port: Number(port), username, database: pathname.slice(1) }
  return EmbeddedPostgres.runtimeUrl({ ...address, password: Redacted.make(password) })
}

const ensureTemplate = (server: Coordinates, migrate: (url: string) => Promise<void>): Promise<void> =>
  withSession(
    server,
    Effect.fnUntraced(function* (sql) {
      // Test files run in several processes: the first migrates, the others wait for it here.
      yield* sql`SELECT pg_advisory_lock(1)`
      const made = yield* sql`SELECT FROM pg_database WHERE datname = ${TEMPLATE} AND datistemplate`
      if (made.length > 0) return
      yield* sql.unsafe(`DROP DATABASE IF EXISTS ${TEMPLATE}`)
      yield* sql.unsafe(`CREATE DATABASE ${TEMPLATE}`)
      yield* Effect.tryPromise(() => migrate(urlOf({ ...server, database: TEMPLATE })))
      yield* sql.unsafe(`ALTER DATABASE ${TEMPLATE} IS_TEMPLATE true`)
    })
  )

/** A run that was killed leaves its server behind. */
const removeLeftovers = async (): Promise<void> => {
  for (const folder of databaseFolders)
    for (const name of await readdir(folder).catch(() => [])) {
      const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1]
      if (pid !== undefined && !isAlive(Number(pid))) await removeDataDir(join(folder, name)).catch(() => undefined)
    }
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (cause) {
    return cause instanceof Error && "code" in cause && cause.code === "EPERM"
  }
}
