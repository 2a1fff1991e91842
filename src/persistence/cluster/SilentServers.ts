import { Cause, Deferred, Effect, Exit, Fiber, FiberMap, Semaphore } from "effect"
import type { SqlError } from "effect/sql"
import { AnswerBoundMs, PlannedAnew } from "../connection/BoundedClient.ts"
import { sqlState } from "../connection/DatabaseSpans.ts"
import type { ServerTenants } from "./Shards.ts"

/** A wait for a lock ends sooner, by `lock_timeout` (of a worker: docs/citus.md); a longer statement waits for something else. */
const ANSWER_MS = 7_000
/** A statement without a result by then has its server probed, and again after the same time. */
const SUSPECT_MS = 1_000
/** A server that has not answered a probe by then is silent: a probe reads one row by its key. */
const PROBE_MS = 3_000
const PROBE_EVERY = "1 second"

type Query<A> = Effect.Effect<ReadonlyArray<A>, SqlError.SqlError>

/** The result of a statement, including a failure; null when its server does not answer. */
export type Answered<A> = Exit.Exit<ReadonlyArray<A> | null, SqlError.SqlError>
export const unanswered: Answered<never> = Exit.succeed(null)

interface Means {
  /** A statement that any working server answers at once. */
  readonly probe: (group: ServerTenants) => Query<unknown>
  /** Called for each server that is found to be silent. */
  readonly found: (server: string) => void
  /** Wraps what is sent to a server. */
  readonly within: (server: string) => <A, E>(statement: Effect.Effect<A, E>) => Effect.Effect<A, E | SqlError.SqlError>
}

/**
 * The servers that do not answer. A statement that is late or whose connection broke makes its server a suspect; a probe
 * decides. A silent server is probed until it answers, and nothing else is sent to it.
 */
export const silentServers = Effect.fnUntraced(function* ({ found, probe, within }: Means) {
  const scope = yield* Effect.scope
  const probes = yield* FiberMap.make<string>()
  const servers = new Set<string>()
  const verdicts = new Map<string, Deferred.Deferred<boolean>>()
  // One at a time, so that probes leave connections to others.
  const turns = yield* Semaphore.make(1)
  const answers = (group: ServerTenants) => turns.withPermit(bounded(probe(group), PROBE_MS))

  /** Sets and removes the server's mark itself, because the caller that asked for the verdict may be gone by then. */
  const decide = Effect.fnUntraced(function* (group: ServerTenants, verdict: Deferred.Deferred<boolean>) {
    const { server } = group
    const exit = yield* Effect.exit(answers(group))
    verdicts.delete(server)
    if (!isSilentExit(exit)) return
    servers.add(server)
    found(server)
    yield* Deferred.succeed(verdict, true)
    yield* Effect.annotateLogs(
      Effect.logError("a database server does not answer: what is due of its tenants waits", exit.cause),
      { database_server: server }
    ).pipe(
      Effect.andThen(Effect.eventually(Effect.delay(answers(group), PROBE_EVERY))),
      // However it ended: the next statement finds out again.
      Effect.ensuring(Effect.sync(() => servers.delete(server)))
    )
    yield* Effect.annotateLogs(Effect.logInfo("a database server answers again"), { database_server: server })
  })

  /** Whether a server is silent, by a probe that concurrent callers share. */
  const isSilent = (group: ServerTenants): Effect.Effect<boolean> =>
    Effect.suspend(() => {
      const { server } = group
      if (servers.has(server)) return Effect.succeed(true)
      const underWay = verdicts.get(server)
      if (underWay !== undefined) return Deferred.await(underWay)
      const verdict = Deferred.makeUnsafe<boolean>()
      verdicts.set(server, verdict)
      const deciding = Effect.ensuring(decide(group, verdict), Deferred.succeed(verdict, false))
      return Effect.andThen(Effect.uninterruptible(FiberMap.run(probes, server, deciding)), Deferred.await(verdict))
    })

  const untilSilent = (group: ServerTenants) =>
    Effect.repeat(Effect.delay(isSilent(group), SUSPECT_MS), { until: (silent) => silent })

  /** The rows; null when the server did not answer. A server that becomes silent in the meantime is not waited for. */
  const watch = Effect.fnUntraced(function* <A>(group: ServerTenants, query: Query<A>): Effect.fn.Return<Answered<A>> {
    const { server } = group
    const statement = yield* Effect.forkIn(Effect.exit(within(server)(bounded(query, ANSWER_MS))), scope, {
      startImmediately: true
    })
    const exit = yield* Effect.raceFirst(Fiber.join(statement), Effect.as(untilSilent(group), unanswered)).pipe(
      Effect.onInterrupt(() => Fiber.interrupt(statement))
    )
    if (Exit.isSuccess(exit)) return exit
    if (Cause.hasInterruptsOnly(exit.cause)) return yield* Effect.interrupt
    if (servers.has(server)) return unanswered
    if (!isSilentExit(exit)) return exit
    if (yield* isSilent(group)) return unanswered
    yield* Effect.annotateLogs(
      Effect.logWarning("a statement was not answered by a database server that answers others", exit.cause),
      { database_server: server }
    )
    return unanswered
  })

  return { has: (server: string) => servers.has(server), names: Effect.sync(() => [...servers].toSorted()), watch }
})

const bounded = <A>(query: Query<A>, withinMs: number): Query<A> =>
  query.pipe(Effect.provideService(AnswerBoundMs, withinMs), Effect.provideService(PlannedAnew, true))

const isSilentExit = (exit: Exit.Exit<unknown, SqlError.SqlError>): exit is Exit.Failure<never, SqlError.SqlError> =>
  Exit.isFailure(exit) && exit.cause.reasons.some((reason) => reason._tag === "Fail" && isSilence(reason.error))

/** SQLSTATE classes: a connection that broke or could not be made, and a server that is shutting down or starting. */
const SILENT_STATES = /^(08|57P)/

/** Whether a server did not answer, as opposed to a refused statement. */
export const isSilence = (error: SqlError.SqlError): boolean => {
  const state = sqlState(error)
  if (state !== undefined) return SILENT_STATES.test(state) || error.reason._tag === "StatementTimeoutError"
  // When no connection could be had, no tenants' server was contacted.
  return error.reason._tag === "ConnectionError" && error.reason.operation !== "connect"
}
