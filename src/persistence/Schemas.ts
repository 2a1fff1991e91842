import { Effect, Layer, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Database } from "./Database.ts"
import type { DatabaseError } from "./DatabaseError.ts"
import { RuntimeRole } from "./RuntimeRole.ts"

/** One database: as gateways log in, and as its owner does; null where the two are one, or the owner has been here before. */
export interface Credentials {
  readonly databaseUrl: Redacted.Redacted
  readonly ownerUrl: Redacted.Redacted | null
}

const migrate = ({ databaseUrl, ownerUrl }: Credentials): Effect.Effect<ReadonlyArray<string>, DatabaseError> =>
  ownerUrl === null
    ? Effect.provide(Database.migrate, Database.layer({ url: databaseUrl }))
    : Effect.gen(function* () {
        // Also says at once where gateways could not log in.
        const role = yield* Effect.provide(roleOf, Database.layer({ url: databaseUrl }))
        return yield* Effect.provide(Effect.tap(Database.migrate, RuntimeRole.grant(role)), Database.layer({ url: ownerUrl }))
      })

const roleOf = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* Effect.orDie(sql<{ role: string }>`SELECT session_user::text AS role`)
  return row?.role ?? ""
})

/** The pool that gateways work with, on a schema that is up to date. */
const layer = (credentials: Credentials): Layer.Layer<SqlClient.SqlClient, DatabaseError> => {
  const pool = Database.layer({ url: credentials.databaseUrl })
  return credentials.ownerUrl === null
    ? Layer.provideMerge(Layer.effectDiscard(Database.migrate), pool)
    : Layer.provideMerge(pool, Layer.effectDiscard(migrate(credentials)))
}

/** The schema of a database, and who may do what with it. */
export const Schemas = { migrate, layer }
