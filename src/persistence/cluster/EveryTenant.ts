import { Array as Arr, type Cause, Context, Deferred, Effect, Exit, Fiber, Layer, Option } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { elapsed } from "../../runtime/Timer.ts"
import { Distribution } from "../connection/Distribution.ts"
import { OnTenantServer, serverSlots } from "../connection/ServerSlots.ts"
import type { ServerLanes } from "../connection/StepBatch.ts"
import { ofAll, ofTenants, type TenantFilter } from "../connection/TenantFilter.ts"
import { cachedShards, type ServerTenants, type Shard } from "./Shards.ts"
import { type Answered, silentServers, unanswered } from "./SilentServers.ts"

/** A server that does not answer by then which tenants have due rows is left out; its answer is for the next claim. */
const DUE_MS = 500
/** After this time a claim takes nothing more: its leases run from its start, and a slow server would delay the others. */
const TAKE_MS = 1_000
/** How many shards are claimed from at the same time. */
const SHARDS_AT_ONCE = 4

type Query<A> = Effect.Effect<ReadonlyArray<A>, SqlError.SqlError>

interface Due {
  readonly app_id: string
}

/** `isWhole`: every server answered. Otherwise the rows of some server's tenants are missing. */
export interface Answers<A> {
  readonly rows: ReadonlyArray<A>
  readonly isWhole: boolean
}

/** The queries of a claim over the rows of all tenants. */
export interface ClaimQueries<A> {
  readonly kind: string
  /** The tenants that have due rows. Used only on Citus. */
  readonly due: (of: TenantFilter) => Query<Due>
  /** Claims at most this many rows: on Citus of the given tenants of one shard, otherwise of all. */
  readonly take: (of: TenantFilter, limit: number, shard: Shard | null) => Query<A>
}

/**
 * Statements about the rows of all tenants. On plain PostgreSQL each is one statement with an empty filter. On Citus a
 * statement that names no tenant touches every server, and fails for all tenants while one of them is down. So it is sent
 * separately for the tenants of each server or shard, and a server that does not answer stops only its own tenants. It is
 * logged when a server stops answering and when it answers again, and nothing is sent to it in between.
 */
export class EveryTenant extends Context.Service<
  EveryTenant,
  {
    /** A read: on Citus one statement per server. */
    readonly read: <A>(query: (of: TenantFilter) => Query<A>) => Effect.Effect<Answers<A>, SqlError.SqlError>
    /** A read of rows that at most one server has: the first rows end it, whatever the other servers do. */
    readonly find: <A>(query: (of: TenantFilter) => Query<A>) => Effect.Effect<Answers<A>, SqlError.SqlError>
    /** A write that locks rows, or a join that works only within a shard: on Citus one statement per shard. */
    readonly sweep: <A>(query: (of: TenantFilter) => Query<A>) => Effect.Effect<Answers<A>, SqlError.SqlError>
    /** Claims at most `limit` rows. On Citus the shards with due rows share the limit, starting with another shard each time. */
    readonly claim: <A>(limit: number, queries: ClaimQueries<A>) => Query<A>
    /** How steps of tenants are batched. */
    readonly lanesOf: <Step>(appIdOf: (step: Step) => string) => ServerLanes<Step>
    /** The servers that did not answer their last probe. */
    readonly silentServers: Effect.Effect<ReadonlyArray<string>>
  }
>()("gateway/persistence/EveryTenant") {
  /** Also provides the wrapper for the statements of one tenant. */
  static readonly layer = Layer.effectContext(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      if (!(yield* Distribution).isDistributed) return Context.make(EveryTenant, onPostgres(sql))
      const { everyTenant, onTenantServer } = yield* onCitus(sql)
      return Context.make(EveryTenant, everyTenant).pipe(Context.add(OnTenantServer, onTenantServer))
    })
  )
}

const onPostgres = (sql: SqlClient.SqlClient): EveryTenant["Service"] => {
  const everyone = ofAll(sql)
  const once = <A>(query: (of: TenantFilter) => Query<A>) =>
    Effect.map(query(everyone), (rows): Answers<A> => ({ rows, isWhole: true }))
  return {
    read: once,
    find: once,
    sweep: once,
    claim: (limit, { take }) => take(everyone, limit, null),
    lanesOf: () => ({}),
    silentServers: Effect.succeed([])
  }
}

const onCitus = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const cached = yield* cachedShards(sql)
  const silent = yield* silentServers({
    // One row of one shard.
    probe: ({ appIds: [one] }) => sql`SELECT 1 FROM tenants WHERE app_id = ${one}`,
    found: (server) => places.refuseWaiting(server),
    within: (server) => places.within(server, "background")
  })
  const places = serverSlots(silent.has, () => tenantServers)

  /** The shards as last read; claims read them all the time. */
  let [newest, servers]: [ReadonlyArray<Shard>, ReadonlyMap<string, string>] = [[], new Map()]
  /** The servers that have tenants. Rows that all tenants share are on the coordinator, without which nothing works. */
  let tenantServers: ReadonlySet<string> = new Set()
  const shards = Effect.tap(cached, (all) =>
    Effect.sync(() => {
      if (all === newest) return
      newest = all
      servers = new Map(all.flatMap(({ appIds, server }) => appIds.map((appId) => [appId, server] as const)))
      tenantServers = new Set([...servers].flatMap(([appId, server]) => (appId === "" ? [] : [server])))
    })
  )

  const only = (appIds: ReadonlyArray<string>) => ofTenants(sql, appIds)

  const answered = <A>(group: ServerTenants, query: Query<A>): Effect.Effect<Answered<A>> =>
    Effect.suspend(() => (silent.has(group.server) ? Effect.succeed(unanswered) : silent.watch(group, query)))

  const dues = yield* lateAnswers<Answered<Due>>(DUE_MS)
  /** As `answered`, if that is known soon; otherwise the late answer to the previous query. */
  const answeredSoon = (kind: string, group: ServerTenants, query: Query<Due>): Effect.Effect<Answered<Due>> => {
    const { server } = group
    if (silent.has(server)) return Effect.succeed(unanswered)
    const late = Effect.annotateLogs(
      Effect.logWarning("a database server takes long to say what is due: what is due there is claimed late"),
      { database_server: server, due: kind }
    )
    return Effect.map(
      dues.soon(`${kind} at ${server}`, answered(group, query), late),
      Option.getOrElse(() => unanswered)
    )
  }

  /**
   * One statement for each group of tenants; after a server did not answer, none for its other groups. A statement that fails
   * although its server answers says nothing about that server, and does not prevent the other statements.
   */
  const ask = Effect.fnUntraced(function* <A, Group extends ServerTenants>(
    groups: ReadonlyArray<Group>,
    concurrency: number | "unbounded",
    hear: (group: Group) => Effect.Effect<Answered<A>>
  ) {
    const exits = yield* Effect.forEach(groups, hear, { concurrency })
    const answers = exits.flatMap((exit) => (Exit.isSuccess(exit) ? [exit.value] : []))
    const failed = exits.find(Exit.isFailure)
    return {
      rows: answers.flatMap((rows) => rows ?? []),
      isWhole: answers.every((rows) => rows !== null),
      failure: failed?.cause ?? null
    } satisfies Asked<A>
  })

  /** As on a single server, where a failed statement returns no rows. */
  const allOrNothing = <A>({ failure, isWhole, rows }: Asked<A>): Effect.Effect<Answers<A>, SqlError.SqlError> =>
    failure === null ? Effect.succeed({ rows, isWhole }) : Effect.failCause(failure)

  const askAll = <A>(
    groups: ReadonlyArray<ServerTenants>,
    concurrency: number | "unbounded",
    query: (of: TenantFilter) => Query<A>
  ) =>
    Effect.flatMap(
      ask(groups, concurrency, (group) => answered(group, query(only(group.appIds)))),
      allOrNothing
    )
  const read = <A>(query: (of: TenantFilter) => Query<A>) =>
    Effect.flatMap(shards, (all) => askAll(byServer(all), "unbounded", query))
  const find = Effect.fnUntraced(function* <A>(query: (of: TenantFilter) => Query<A>) {
    const found = yield* Deferred.make<Answers<A>>()
    const telling = (of: TenantFilter) =>
      Effect.tap(query(of), (rows) => (rows.length > 0 ? Deferred.succeed(found, { rows, isWhole: true }) : Effect.void))
    return yield* Effect.raceFirst(read(telling), Deferred.await(found))
  })
  const sweep = <A>(query: (of: TenantFilter) => Query<A>) => Effect.flatMap(shards, (all) => askAll(all, SHARDS_AT_ONCE, query))

  let turn = 0
  // A claimed row is leased, so it is processed even when another part of the claim failed.
  const claim = Effect.fnUntraced(function* <A>(limit: number, { due, kind, take }: ClaimQueries<A>) {
    const all = yield* shards
    const began = yield* elapsed
    const owing = yield* ask(byServer(all), "unbounded", (group) => answeredSoon(kind, group, due(only(group.appIds))))
    const shares = sharesOf(limit, turn++, dueIn(all, new Set(owing.rows.map(({ app_id }) => app_id))))
    const inTime = (shard: Shard, taking: Query<A>): Effect.Effect<Answered<A>> =>
      Effect.flatMap(elapsed, (now) => (now - began > TAKE_MS ? Effect.succeed(unanswered) : answered(shard, taking)))
    const taken = yield* ask(shares, SHARDS_AT_ONCE, (shard) => inTime(shard, take(only(shard.appIds), shard.share, shard)))
    const cause = owing.failure ?? taken.failure
    if (cause === null) return taken.rows
    if (taken.rows.length === 0) return yield* Effect.failCause(cause)
    yield* Effect.logError("what is due of some tenants could not be claimed", cause)
    return taken.rows
  })

  const onTenantServer: OnTenantServer = (appId) => {
    const server = servers.get(appId)
    return server === undefined ? (statement) => statement : places.within(server)
  }
  const lanesOf = <Step>(appIdOf: (step: Step) => string): ServerLanes<Step> => ({
    isBatchOfOneLane: true,
    serverOf: (step) => servers.get(appIdOf(step)) ?? null,
    around: (step) => onTenantServer(appIdOf(step))
  })

  return { everyTenant: EveryTenant.of({ read, find, sweep, claim, lanesOf, silentServers: silent.names }), onTenantServer }
})

interface Asked<A> extends Answers<A> {
  /** The first statement that failed although its server answered. */
  readonly failure: Cause.Cause<SqlError.SqlError> | null
}

const byServer = (shards: ReadonlyArray<Shard>): ReadonlyArray<ServerTenants> =>
  Object.entries(Arr.groupBy(shards, ({ server }) => server)).map(([server, own]) => ({
    server,
    appIds: own.flatMap(({ appIds }) => appIds)
  }))

/** For each shard, its tenants that have due rows. */
export const dueIn = (shards: ReadonlyArray<Shard>, owing: ReadonlySet<string>): ReadonlyArray<Shard> =>
  shards
    .map((shard) => ({ ...shard, appIds: shard.appIds.filter((appId) => owing.has(appId)) }))
    .filter(({ appIds }) => appIds.length > 0)

/** The share of each shard: together `limit`, as evenly as possible, starting one shard further each turn. */
export const sharesOf = (
  limit: number,
  turn: number,
  shards: ReadonlyArray<Shard>
): ReadonlyArray<Shard & { readonly share: number }> =>
  shards
    .map((_, at) => shards[(at + turn) % shards.length])
    .filter((shard) => shard !== undefined)
    .map((shard, at, all) => ({ ...shard, share: Math.floor(limit / all.length) + (at < limit % all.length ? 1 : 0) }))
    .filter(({ share }) => share > 0)

/** Repeated queries that must not delay their caller. A late answer is kept for the next time, which then does not wait. */
const lateAnswers = Effect.fnUntraced(function* <A>(withinMs: number) {
  const scope = yield* Effect.scope
  const underWay = new Map<string, Fiber.Fiber<A>>()
  const slow = new Set<string>()

  /** None when there is no answer yet; `late` runs when the answers to this query begin to be late. */
  const soon = Effect.fnUntraced(function* (question: string, ask: Effect.Effect<A>, late: Effect.Effect<void>) {
    const running = underWay.get(question)
    if (running !== undefined) {
      const exit = running.pollUnsafe()
      if (exit === undefined) return Option.none()
      underWay.delete(question)
      return Option.some(yield* exit)
    }
    const askedAt = yield* elapsed
    const timed = Effect.tap(ask, () =>
      Effect.map(elapsed, (now) => {
        if (now - askedAt < withinMs) slow.delete(question)
      })
    )
    const fiber = yield* Effect.forkIn(timed, scope, { startImmediately: true })
    if (!slow.has(question)) {
      const answer = yield* Effect.timeoutOption(Fiber.join(fiber), withinMs)
      if (Option.isSome(answer)) return answer
      slow.add(question)
      yield* late
    }
    underWay.set(question, fiber)
    return Option.none()
  })

  return { soon }
})
