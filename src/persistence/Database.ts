import { Effect, Layer, Redacted } from "effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import { SqlClient } from "effect/sql"
import { makeBoundedClient } from "./BoundedClient.ts"
import { DatabaseError } from "./DatabaseError.ts"
import { targetOf } from "./DatabaseSpans.ts"
import { databaseTls } from "./DatabaseTls.ts"
import { Migrations, schemaObstacle } from "./Migrations.ts"
import { RuntimeRole } from "./RuntimeRole.ts"

/** Where the database is. The parts are those of an `EmbeddedDatabase`. */
export type DatabaseAddress =
  | { readonly url: Redacted.Redacted }
  | {
      readonly host: string
      readonly port: number
      readonly username: string
      readonly password: Redacted.Redacted
      readonly database: string
    }

/** As the server knows our connections. */
export const APPLICATION_NAME = "payment-gateway"
const POOL_CONNECTIONS = 10
export interface Sessions {
  /** As the server knows them. */
  readonly applicationName: string
  /** At most so many. */
  readonly connections: number
}
const defaultSessions: Sessions = { applicationName: APPLICATION_NAME, connections: POOL_CONNECTIONS }
const CONNECT_TIMEOUT = "5 seconds"
/** A lock is waited for this long; one that is held longer belongs to something broken. */
const LOCK_TIMEOUT_MS = 5_000
const STATEMENT_TIMEOUT_MS = 15_000
/** What PostgreSQL has not ended by itself by then, it will not. */
const ANSWER_MS = STATEMENT_TIMEOUT_MS + 3_000
const FREE_CONNECTION_MS = 10_000
/** A transaction whose node went silent gives its locks back after this. */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 10_000
/** What the statements need, such as an exact `extract`, is there from 14 on; 14 itself is at the end of its support. */
const OLDEST_VERSION = 15

const startupParameters = {
  lock_timeout: `${LOCK_TIMEOUT_MS}ms`,
  statement_timeout: `${STATEMENT_TIMEOUT_MS}ms`,
  idle_in_transaction_session_timeout: `${IDLE_IN_TRANSACTION_TIMEOUT_MS}ms`,
  // A plan that was made while its table was young would read it from end to end until the next ANALYZE.
  enable_seqscan: "off",
  // Statements are short, and compiling one takes longer than running it.
  jit: "off",
  TimeZone: "UTC"
}

/** PostgreSQL as every part of the gateway uses it: one pool, whose connections carry statements of many fibers at once. */
export const Database = {
  /** The pool. Building it fails with one clear line when the server cannot be reached, or is too old. */
  layer: (
    address: DatabaseAddress,
    { applicationName, connections }: Sessions = defaultSessions
  ): Layer.Layer<SqlClient.SqlClient, DatabaseError> => {
    const { password, url, ...parts } = { password: undefined, url: undefined, ...address }
    const client = Layer.effect(
      SqlClient.SqlClient,
      Effect.gen(function* () {
        const ssl = url === undefined ? undefined : yield* databaseTls(Redacted.value(url))
        return yield* makeBoundedClient(
          {
            ...parts,
            url,
            password,
            ssl,
            applicationName,
            connectTimeout: CONNECT_TIMEOUT,
            maxConnections: connections,
            multiplex: true,
            startupParameters
          },
          { connectionMs: FREE_CONNECTION_MS, answerMs: ANSWER_MS },
          "url" in address ? targetOf(Redacted.value(address.url)) : address
        )
      }).pipe(DatabaseError.explain("use the database"))
    ).pipe(Layer.provide(Reactivity.layer))
    return Layer.provideMerge(Layer.effectDiscard(reachable), client)
  },

  /** Brings the schema up to this program's and answers the names that it applied; none when it was. Nodes that start together wait for each other. */
  migrate: Migrations.apply(Migrations.all),

  /** As `migrate`, by the owner where there is one, who then grants the gateways' role what a gateway needs and nothing else. */
  migrateAsOwner: (credentials: Credentials): Effect.Effect<ReadonlyArray<string>, DatabaseError> => migrateAsOwner(credentials),

  /** The pool that gateways work with, on a schema that is up to date. */
  migratedLayer: (credentials: Credentials): Layer.Layer<SqlClient.SqlClient, DatabaseError> => {
    const pool = Database.layer({ url: credentials.databaseUrl })
    return credentials.ownerUrl === null
      ? Layer.provideMerge(Layer.effectDiscard(Database.migrate), pool)
      : Layer.provideMerge(pool, Layer.effectDiscard(migrateAsOwner(credentials)))
  },

  /** Why this program does not fit the schema as it is now, in one line; null where it does. */
  schemaObstacle: Effect.map(SqlClient.SqlClient, schemaObstacle),

  /** Any answer will do: it says that the database answers, and fails as the database does. */
  ping: Effect.map(SqlClient.SqlClient, (sql) => sql`SELECT 1`)
}

/** One database: as gateways log in, and as its owner does; null where the two are one, or the owner has been here before. */
export interface Credentials {
  readonly databaseUrl: Redacted.Redacted
  readonly ownerUrl: Redacted.Redacted | null
}

const migrateAsOwner = ({ databaseUrl, ownerUrl }: Credentials): Effect.Effect<ReadonlyArray<string>, DatabaseError> =>
  ownerUrl === null
    ? Effect.provide(Database.migrate, Database.layer({ url: databaseUrl }))
    : Effect.gen(function* () {
        // Fails at once where gateways could not log in.
        const role = yield* Effect.provide(roleOf, Database.layer({ url: databaseUrl }))
        return yield* Effect.provide(Effect.tap(Database.migrate, RuntimeRole.grant(role)), Database.layer({ url: ownerUrl }))
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
    return yield* new DatabaseError({ message: `the database is PostgreSQL ${version}; ${OLDEST_VERSION} or newer is needed` })
  }
}).pipe(DatabaseError.explain("use the database"))
