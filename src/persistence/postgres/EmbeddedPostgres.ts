import { createHmac } from "node:crypto"
import { join } from "node:path"
import * as PgClient from "@effect/sql-pg/PgClient"
import { Effect, Option, Redacted } from "effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import { EmbeddedPostgresError } from "./EmbeddedPostgresError.ts"
import { withFolderLock } from "./FolderLock.ts"
import type { Cluster } from "./PostgresCluster.ts"
import { PostgresCluster } from "./PostgresCluster.ts"
import { PostgresInstall } from "./PostgresInstall.ts"
import type { Durability, Launch } from "./PostgresServer.ts"
import { PostgresServer } from "./PostgresServer.ts"

/** Where the embedded database accepts connections, as its superuser. */
export interface EmbeddedDatabase {
  readonly host: string
  readonly port: number
  readonly username: string
  readonly password: Redacted.Redacted
  readonly database: string
  readonly folder: string
  /** PostgreSQL's own version, such as `18.4`. */
  readonly version: string
  /** `false`: it was already running. */
  readonly startedByUs: boolean
}

const HOST = "127.0.0.1"
const NAME = "gateway"
/** The role with which gateways log in. It owns nothing. */
const RUNTIME = "gateway_runtime"
const LOGIN_TIMEOUT = "2 seconds"
/** A start after a crash first replays the write-ahead log. */
const START_TIMEOUT = "60 seconds"
const START_POLL_MILLIS = 50
/** A server that exits at once is started again: the backends of a killed server may need a moment to notice. */
const MAX_STARTS = 20
const RESTART_PAUSE_MILLIS = 250
const WATCH_INTERVAL = "1 second"

/** A PostgreSQL from the installed package, one cluster per data folder, in a process that outlives us: the next adopts it. */
export const EmbeddedPostgres = {
  /**
   * Creates the cluster on first use, starts its server or adopts the running one, and returns when it accepts connections.
   * Callers in several processes wait for each other. `durability` only matters when the server is started here.
   */
  ensureRunning: Effect.fn("EmbeddedPostgres.ensureRunning")(function* (path: string, durability: Durability = "full") {
    const dataDir = yield* PostgresCluster.dataDir(path)
    return yield* withFolderLock(join(dataDir, "postgres.lock"))(ensure(dataDir, durability))
  }),

  /** The running database of a data folder; `none` when there is none or it does not accept connections. Starts nothing. */
  running: Effect.fn("EmbeddedPostgres.running")(function* (path: string) {
    const cluster = yield* readExisting(path)
    if (Option.isNone(cluster)) return Option.none()
    const server = yield* PostgresServer.find(cluster.value.folder)
    if (Option.isNone(server)) return Option.none()
    return yield* login(cluster.value, server.value.port, false)
  }),

  /** A clean fast shutdown, within 10 s. Does nothing when no server runs. */
  stop: Effect.fn("EmbeddedPostgres.stop")(function* (path: string): Effect.fn.Return<void, EmbeddedPostgresError> {
    const cluster = yield* readExisting(path)
    if (Option.isNone(cluster)) return
    const { dataDir, folder } = cluster.value
    yield* withFolderLock(join(dataDir, "postgres.lock"))(PostgresServer.stop(folder))
  }),

  /** Never ends: checks every second whether the server lives, else starts it. For the one process that owns the folder. */
  keepRunning: Effect.fn("EmbeddedPostgres.keepRunning")(function* (path: string): Effect.fn.Return<never> {
    return yield* Effect.forever(Effect.delay(revive(path), WATCH_INTERVAL))
  }),

  /** With the role that owns everything. */
  url: (embedded: Reached): Redacted.Redacted => urlOf(embedded, embedded.username, embedded.password),

  /** With the role that gateways use. */
  runtimeUrl: (embedded: Reached): Redacted.Redacted => urlOf(embedded, RUNTIME, runtimePassword(embedded.password))
}

type Reached = Pick<EmbeddedDatabase, "host" | "port" | "username" | "password" | "database">

const urlOf = ({ database, host, port }: Reached, username: string, password: Redacted.Redacted): Redacted.Redacted =>
  Redacted.make(`postgres://${username}:${Redacted.value(password)}@${host}:${port}/${database}`)

/** Derived from the owner's password, which it does not reveal. */
const runtimePassword = (password: Redacted.Redacted): Redacted.Redacted =>
  Redacted.make(createHmac("sha256", Redacted.value(password)).update(RUNTIME).digest("base64url"))

const ensure = Effect.fnUntraced(function* (dataDir: string, durability: Durability) {
  const found = yield* PostgresCluster.readExisting(dataDir, yield* PostgresInstall.major)
  const account = yield* PostgresInstall.account(Option.isSome(found) ? found.value.folder : join(dataDir, "postgres"))
  const programs = yield* PostgresInstall.programs(account)
  const cluster = Option.isSome(found)
    ? found.value
    : yield* PostgresCluster.initialise(dataDir, { programs, account, sync: durability === "full" })
  return yield* startOrAdopt(cluster, { program: programs.postgres, account, durability }).pipe(
    Effect.timeoutOrElse({
      duration: START_TIMEOUT,
      orElse: () => new EmbeddedPostgresError(`PostgreSQL of ${cluster.folder} is not ready after ${START_TIMEOUT}`)
    })
  )
})

/** Retries until a log-in works: a server may be starting, replaying its log or shutting down. */
const startOrAdopt = Effect.fnUntraced(function* (cluster: Cluster, launch: Pick<Launch, "program" | "account" | "durability">) {
  const log = join(cluster.dataDir, "postgres.log")
  let current = cluster
  let starts = 0
  let ended = () => true
  while (true) {
    const server = yield* PostgresServer.find(current.folder)
    if (Option.isSome(server)) {
      const database = yield* login(current, server.value.port, starts > 0)
      if (Option.isSome(database)) return database.value
    } else if (ended()) {
      if (starts === MAX_STARTS) {
        return yield* new EmbeddedPostgresError(`PostgreSQL does not start: ${yield* PostgresServer.lastWords(log)}`)
      }
      if (starts > 0) yield* Effect.sleep(RESTART_PAUSE_MILLIS)
      current = yield* PostgresCluster.rememberPort(current, yield* PostgresServer.port(current.port))
      ended = yield* PostgresServer.launch({ ...launch, folder: current.folder, port: current.port, log })
      starts++
    }
    yield* Effect.sleep(START_POLL_MILLIS)
  }
})

/** Refused connections and "is starting up" pass by themselves, so they give `none`; a wrong password does not. */
const login = (cluster: Cluster, port: number, startedByUs: boolean) =>
  connect(cluster, port, startedByUs).pipe(
    Effect.asSome,
    Effect.catchTag("SqlError", ({ reason }) =>
      reason._tag === "AuthenticationError"
        ? new EmbeddedPostgresError(`PostgreSQL on port ${port} refuses the password in ${cluster.dataDir}/postgres.json`)
        : Effect.succeedNone
    )
  )

const readExisting = Effect.fnUntraced(function* (path: string) {
  const dataDir = yield* PostgresCluster.locate(path)
  if (Option.isNone(dataDir)) return Option.none()
  return yield* PostgresCluster.readExisting(dataDir.value, yield* PostgresInstall.major)
})

const revive = Effect.fnUntraced(
  function* (path: string) {
    const cluster = yield* readExisting(path)
    if (Option.isSome(cluster) && Option.isSome(yield* PostgresServer.find(cluster.value.folder))) return
    yield* Effect.logWarning("the embedded PostgreSQL has gone; starting it again")
    yield* EmbeddedPostgres.ensureRunning(path)
  },
  Effect.catchTag("EmbeddedPostgresError", ({ message }) =>
    Effect.annotateLogs(Effect.logError("the embedded PostgreSQL could not be started again"), { note: message })
  )
)

/** Logs in, checks that the server serves this folder, and creates our database in a new cluster. */
const connect = Effect.fnUntraced(
  function* (cluster: Cluster, port: number, startedByUs: boolean) {
    const password = Redacted.make(cluster.password)
    const sql = yield* PgClient.makeClient({
      host: HOST,
      port,
      username: NAME,
      password,
      database: "postgres",
      connectTimeout: LOGIN_TIMEOUT
    })
    const rows = yield* sql<{ folder: string; version: string; made: boolean; hasRole: boolean }>`
    SELECT current_setting('data_directory') AS folder, current_setting('server_version') AS version,
      EXISTS (SELECT FROM pg_database WHERE datname = ${NAME}) AS made, EXISTS (SELECT FROM pg_roles WHERE rolname = ${RUNTIME}) AS "hasRole"`
    const [row] = rows
    if (row === undefined || row.folder !== cluster.folder) {
      return yield* new EmbeddedPostgresError(`port ${port} is served from ${row?.folder}, not from ${cluster.folder}`)
    }
    if (!row.hasRole) yield* sql.unsafe(`CREATE ROLE ${RUNTIME} LOGIN PASSWORD '${Redacted.value(runtimePassword(password))}'`)
    if (!row.made) yield* sql`CREATE DATABASE gateway`
    const database: EmbeddedDatabase = {
      host: HOST,
      port,
      username: NAME,
      password,
      database: NAME,
      folder: row.folder,
      version: row.version,
      startedByUs
    }
    return database
  },
  Effect.scoped,
  Effect.provide(Reactivity.layer)
)
