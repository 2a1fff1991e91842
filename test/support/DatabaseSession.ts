import { PgClient } from "@effect/sql-pg"
import { Effect, Redacted, Scope } from "effect"
import { Reactivity } from "effect/reactivity"

/** Where a server is, and who logs in. */
export interface ServerAddress {
  readonly host: string
  readonly port: number
  readonly username: string
  readonly password: string
  readonly database: string
}

/** A connection of nobody's pool, for as long as it is used. */
export const withSession = <A>(
  { password, ...server }: ServerAddress,
  use: (sql: PgClient.PgClient) => Effect.Effect<A, unknown>
): Promise<A> =>
  PgClient.makeClient({ ...server, password: Redacted.make(password) }).pipe(
    Effect.flatMap(use),
    Effect.scoped,
    Effect.provide(Reactivity.layer),
    Effect.runPromise
  )

/** The same for as long as this process lives. */
export const openSession = ({ password, ...server }: ServerAddress): Promise<PgClient.PgClient> =>
  PgClient.makeClient({ ...server, password: Redacted.make(password) }).pipe(
    Effect.provideService(Scope.Scope, Scope.makeUnsafe()),
    Effect.provide(Reactivity.layer),
    Effect.runPromise
  )

export const execute = (server: ServerAddress, statement: string): Promise<void> =>
  withSession(server, (sql) => Effect.asVoid(sql.unsafe(statement)))

export const urlOf = ({ database, host, password, port, username }: ServerAddress): string =>
  `postgres://${username}:${password}@${host}:${port}/${database}`
