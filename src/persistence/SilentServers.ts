import { Cause, Effect, Exit, FiberMap } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { AnswerBoundMs, PlannedAnew } from "./BoundedClient.ts"
import { sqlState } from "./DatabaseSpans.ts"
import type { ServerTenants } from "./Shards.ts"

/** A server that has not answered a statement of a sweep by then is left alone until it does again. */
const ANSWER_MS = 4_000
const PROBE_EVERY = "1 second"

type Query<A> = Effect.Effect<ReadonlyArray<A>, SqlError.SqlError>

/** What a statement gave, however it ended; null where its server does not answer. */
export type Heard<A> = Exit.Exit<ReadonlyArray<A> | null, SqlError.SqlError>
export const unanswered: Heard<never> = Exit.succeed(null)

/** The servers that did not answer, each probed until it does; `found` is told of each when it is found to be silent. */
export const silentServers = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, found: (server: string) => void) {
  const probes = yield* FiberMap.make<string>()
  const servers = new Set<string>()

  const probe = ({ appIds, server }: ServerTenants) =>
    bounded(sql`SELECT 1 FROM tenants WHERE app_id = ANY (${appIds}::text[])`).pipe(
      Effect.delay(PROBE_EVERY),
      Effect.eventually,
      Effect.andThen(Effect.sync(() => servers.delete(server))),
      Effect.andThen(Effect.annotateLogs(Effect.logInfo("a database server answers again"), { database_server: server }))
    )

  /** The rows; null where the server did not answer, and then nothing is asked of it before it answers a probe. */
  const watch = Effect.fnUntraced(function* <A>(group: ServerTenants, query: Query<A>): Effect.fn.Return<Heard<A>> {
    const exit = yield* Effect.exit(bounded(query))
    if (Exit.isSuccess(exit)) return exit
    if (Cause.hasInterruptsOnly(exit.cause)) return yield* Effect.interrupt
    if (!exit.cause.reasons.some((reason) => reason._tag === "Fail" && isSilence(reason.error))) return exit
    const { server } = group
    if (servers.has(server)) return unanswered
    servers.add(server)
    found(server)
    yield* Effect.annotateLogs(
      Effect.logError("a database server does not answer: what is due of its tenants waits", exit.cause),
      { database_server: server }
    )
    yield* FiberMap.run(probes, server, probe(group))
    return unanswered
  })

  return { has: (server: string) => servers.has(server), names: Effect.sync(() => [...servers].toSorted()), watch }
})

const bounded = <A>(query: Query<A>): Query<A> =>
  query.pipe(Effect.provideService(AnswerBoundMs, ANSWER_MS), Effect.provideService(PlannedAnew, true))

/** Of the classes of SQLSTATE: a connection that broke or could not be made, and a server that is going or coming. */
const SILENT_STATES = /^(08|57P)/

/** Whether a server was not heard, and not a statement refused. */
export const isSilence = (error: SqlError.SqlError): boolean => {
  const state = sqlState(error)
  if (state !== undefined) return SILENT_STATES.test(state) || error.reason._tag === "StatementTimeoutError"
  // Where no connection is to be had, no server of tenants was asked.
  return error.reason._tag === "ConnectionError" && error.reason.operation !== "connect"
}
