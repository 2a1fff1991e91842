import * as PgPool from "@effect/sql-pg/PgPool"
import { Context, Effect, Layer, Redacted } from "effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import { SqlClient } from "effect/sql"
import { commitsObstacle } from "./cluster/CommitSettings.ts"
import { EveryTenant } from "./cluster/EveryTenant.ts"
import { makeBoundedClient } from "./connection/BoundedClient.ts"
import { DatabaseError } from "./connection/DatabaseError.ts"
import { type DatabaseTarget, targetOf } from "./connection/DatabaseSpans.ts"
import { databaseTls, usableRoute } from "./connection/DatabaseTls.ts"
import { Distribution } from "./connection/Distribution.ts"
import { isBehindPooler, SessionPooling } from "./connection/SessionPooling.ts"
import { STATEMENT_TIMEOUT_MS, sessionSettings, settingsHold } from "./connection/SessionSettings.ts"
import { durablePool } from "./connection/servers/Durability.ts"
import { type Connections, makePrimaryPool, NoPrimary } from "./connection/servers/PrimaryPool.ts"
import { makeWriteProbe } from "./connection/WriteProbe.ts"
import type { EmbeddedDatabase } from "./postgres/EmbeddedPostgres.ts"
import { Distribute } from "./schema/Distribute.ts"
import { functionFiles } from "./schema/FunctionFiles.ts"
import { Migrations } from "./schema/Migrations.ts"
import { RuntimeRole } from "./schema/RuntimeRole.ts"

/** The database's address, as a URL or in the parts of an `EmbeddedDatabase`. */
type DatabaseLogin =
  | { readonly url: Redacted.Redacted }
  | Pick<EmbeddedDatabase, "host" | "port" | "username" | "password" | "database">

/** The application name of our connections at the server. */
export const APPLICATION_NAME = "payment-gateway"
const POOL_CONNECTIONS = 10
export interface Sessions {
  readonly applicationName: string
  /** The most connections. */
  readonly connections: number
}
const defaultSessions: Sessions = { applicationName: APPLICATION_NAME, connections: POOL_CONNECTIONS }
const CONNECT_TIMEOUT = "5 seconds"
/** A statement that PostgreSQL has not ended by then has hung. */
const ANSWER_MS = STATEMENT_TIMEOUT_MS + 3_000
const FREE_CONNECTION_MS = 10_000
/** The statements need features of version 14, such as an exact `extract`; 14 itself is no longer supported. */
const OLDEST_VERSION = 15

/** PostgreSQL as every part of the gateway uses it: one pool, whose connections pipeline the statements of many fibers. */
export const Database = {
  /** The connection pool, and whether the database is distributed. Fails with one clear line when there is no usable server. */
  layer: (
    address: DatabaseLogin,
    { applicationName, connections }: Sessions = defaultSessions
  ): Layer.Layer<SqlClient.SqlClient | Distribution | EveryTenant, DatabaseError> => {
    const sharing = { isAllowed: true }
    const client = Layer.effectContext(
      Effect.gen(function* () {
        const settings: PgPool.Config = {
          applicationName,
          connectTimeout: CONNECT_TIMEOUT,
          maxConnections: connections,
          multiplex: true,
          startupParameters: sessionSettings
        }
        const timeouts = { connectionMs: FREE_CONNECTION_MS, answerMs: ANSWER_MS }
        const provide = Effect.fnUntraced(function* (pool: Connections, target: DatabaseTarget) {
          const sql = yield* makeBoundedClient(pool, timeouts, target, sharing)
          return Context.make(SqlClient.SqlClient, sql).pipe(
            Context.add(SessionPooling, isBehindPooler(pool)),
            Context.add(NoPrimary, pool.refusal)
          )
        })
        if (!("url" in address))
          return yield* provide(yield* durablePool(yield* PgPool.make({ ...settings, ...address })), address)
        const route = yield* usableRoute(Redacted.value(address.url))
        const config = { ...settings, ssl: yield* databaseTls(route) }
        const pool = route.looksForPrimary
          ? makePrimaryPool({ ...config, url: Redacted.make(route.first.href) }, route.servers)
          : Effect.flatMap(PgPool.make({ ...config, url: address.url }), durablePool)
        return yield* provide(yield* pool, targetOf(route))
      }).pipe(DatabaseError.explain("use the database"))
    ).pipe(Layer.provide(Reactivity.layer))
    const connected = Layer.provideMerge(Layer.effectDiscard(reachable), client)
    const apart = Effect.map(Distribution, ({ isDistributed }) => void (sharing.isAllowed = !isDistributed))
    return EveryTenant.layer.pipe(
      Layer.provideMerge(Layer.effectDiscard(apart)),
      Layer.provideMerge(Distribution.layer),
      Layer.provideMerge(connected)
    )
  },

  /** Migrates the schema to this program's version and returns the applied names. Nodes that start together wait in turn. */
  migrate: Migrations.apply(Migrations.all, functionFiles),

  /** As `migrate`, but as the database's owner if there is one, who then grants the gateway's role exactly what a gateway needs. */
  migrateAsOwner: (credentials: Credentials): Effect.Effect<ReadonlyArray<string>, DatabaseError> => migrateAsOwner(credentials),

  /** The gateway's connection pool, on a migrated schema. */
  migratedLayer: (credentials: Credentials): Layer.Layer<SqlClient.SqlClient | Distribution | EveryTenant, DatabaseError> => {
    const pool = Database.layer({ url: credentials.databaseUrl })
    const migrated =
      credentials.ownerUrl === null
        ? Layer.provideMerge(Layer.effectDiscard(Database.migrate), pool)
        : Layer.provideMerge(pool, Layer.effectDiscard(migrateAsOwner(credentials)))
    return Layer.provideMerge(Layer.effectDiscard(fitToServe), migrated)
  },

  /** Why this program does not fit the present schema, in one line; null when it does. */
  schemaObstacle: Effect.flatMap(SqlClient.SqlClient, Migrations.obstacle),

  /** Why the database accepts no writes, in one line; null when it does. Probed every few seconds while the scope lives. */
  writeRefusal: Effect.flatMap(SqlClient.SqlClient, makeWriteProbe),

  /** Succeeds when the database answers, and fails as the database does. */
  ping: Effect.map(SqlClient.SqlClient, (sql) => sql`SELECT 1`)
}

/** A database with the log-ins of the gateway and its owner. `ownerUrl` is null when they are one or the owner has migrated. */
interface Credentials {
  readonly databaseUrl: Redacted.Redacted
  readonly ownerUrl: Redacted.Redacted | null
}

const migrateAsOwner = ({ databaseUrl, ownerUrl }: Credentials): Effect.Effect<ReadonlyArray<string>, DatabaseError> =>
  ownerUrl === null
    ? Effect.provide(Database.migrate, Database.layer({ url: databaseUrl }))
    : Effect.gen(function* () {
        // Fails at once when gateways could not log in.
        const role = yield* Effect.provide(roleOf, Database.layer({ url: databaseUrl }))
        return yield* Effect.provide(Effect.tap(Database.migrate, grantUnlessNewer(role)), Database.layer({ url: ownerUrl }))
      })

/** A newer release has already granted what its nodes need. This program does not know its tables, and leaves the rights alone. */
const grantUnlessNewer = Effect.fnUntraced(function* (role: string) {
  const { newer } = yield* Migrations.standing(yield* SqlClient.SqlClient).pipe(DatabaseError.explain("read the schema"))
  if (newer.length === 0) yield* RuntimeRole.grant(role)
})

const fitToServe = Effect.gen(function* () {
  const obstacle = (yield* Distribute.obstacle) ?? (yield* commitsObstacle)
  if (obstacle !== null) return yield* new DatabaseError(obstacle)
})

const roleOf = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* Effect.orDie(sql<{ role: string }>`SELECT session_user::text AS role`)
  return row?.role ?? ""
})

const reachable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ version: number }>`SELECT current_setting('server_version_num')::int / 10000 AS version`
  const version = rows[0]?.version ?? 0
  if (version < OLDEST_VERSION) {
    return yield* new DatabaseError(`the database is PostgreSQL ${version}; ${OLDEST_VERSION} or newer is needed`)
  }
  yield* settingsHold(sql)
}).pipe(DatabaseError.explain("use the database"))
