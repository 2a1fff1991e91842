import { Array as Arr, Cause, Context, Effect, Exit, FiberMap, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { AnswerBoundMs, PlannedAnew } from "./BoundedClient.ts"
import { Distribution } from "./Distribution.ts"
import { cachedShards, type Shard } from "./Shards.ts"
import { ofAll, ofTenants, type TenantFilter } from "./TenantFilter.ts"

/** A server that has not answered a statement of a sweep by then is left alone until it does again. */
const ANSWER_MS = 4_000
const PROBE_EVERY = "1 second"
/** Shards of which rows are claimed at the same time. */
const SHARDS_AT_ONCE = 4

type Query<A> = Effect.Effect<ReadonlyArray<A>, SqlError.SqlError>

/** `isWhole`: every server answered. Where one did not, the rows of its tenants are not among these. */
export interface Answers<A> {
  readonly rows: ReadonlyArray<A>
  readonly isWhole: boolean
}

/** How rows are claimed that are anybody's. */
export interface ClaimQueries<A> {
  /** The tenants that have something due. Asked on Citus only. */
  readonly due: (of: TenantFilter) => Query<{ readonly app_id: string }>
  /** Takes at most so many rows of these tenants, who are named on Citus only. */
  readonly take: (of: TenantFilter, limit: number, appIds: ReadonlyArray<string>) => Query<A>
}

/**
 * Statements about the rows of all tenants. On PostgreSQL each is one statement, of which the filter is empty. On Citus a statement that names no tenant
 * touches every server, and fails for all tenants while one of them is down; so it is sent for the tenants of one server or of one shard at a
 * time, and a server that does not answer stops its own tenants alone. It is logged when it stops and when it is back, and is asked for nothing in between.
 */
export class EveryTenant extends Context.Service<
  EveryTenant,
  {
    /** A read: on Citus one statement a server. */
    readonly read: <A>(query: (of: TenantFilter) => Query<A>) => Effect.Effect<Answers<A>, SqlError.SqlError>
    /** A write that locks rows, or joins as only one shard can: on Citus one statement a shard. */
    readonly sweep: <A>(query: (of: TenantFilter) => Query<A>) => Effect.Effect<Answers<A>, SqlError.SqlError>
    /** At most `limit` rows. On Citus the shards that have something due share it, another one first each time. */
    readonly claim: <A>(limit: number, queries: ClaimQueries<A>) => Query<A>
    /** Those that did not answer the last statement. */
    readonly silentServers: Effect.Effect<ReadonlyArray<string>>
  }
>()("gateway/persistence/EveryTenant") {
  static readonly layer = Layer.effect(
    EveryTenant,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      return (yield* Distribution).isDistributed ? yield* onCitus(sql) : onPostgres(sql)
    })
  )
}

const onPostgres = (sql: SqlClient.SqlClient): EveryTenant["Service"] => {
  const everyone = ofAll(sql)
  const once = <A>(query: (of: TenantFilter) => Query<A>) =>
    Effect.map(query(everyone), (rows): Answers<A> => ({ rows, isWhole: true }))
  return { read: once, sweep: once, claim: (limit, { take }) => take(everyone, limit, []), silentServers: Effect.succeed([]) }
}

const onCitus = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const shards = yield* cachedShards(sql)
  const silent = yield* silentServers(sql)

  const only = (appIds: ReadonlyArray<string>) => ofTenants(sql, appIds)

  /** One statement for each group of tenants of a server; after one that failed, none of the others of that server. */
  const ask = Effect.fnUntraced(function* <A, Group extends Shard>(
    groups: ReadonlyArray<Group>,
    concurrency: number | "unbounded",
    query: (group: Group) => Query<A>
  ) {
    const answers = yield* Effect.forEach(
      groups,
      (group) => (silent.has(group.server) ? Effect.succeed(null) : silent.watch(group, query(group))),
      { concurrency }
    )
    return { rows: answers.flatMap((rows) => rows ?? []), isWhole: answers.every((rows) => rows !== null) } satisfies Answers<A>
  })

  const read = <A>(query: (of: TenantFilter) => Query<A>) =>
    Effect.flatMap(shards, (all) => ask(byServer(all), "unbounded", ({ appIds }) => query(only(appIds))))

  const sweep = <A>(query: (of: TenantFilter) => Query<A>) =>
    Effect.flatMap(shards, (all) => ask(all, SHARDS_AT_ONCE, ({ appIds }) => query(only(appIds))))

  let turn = 0
  const claim = Effect.fnUntraced(function* <A>(limit: number, { due, take }: ClaimQueries<A>) {
    const owing = new Set((yield* read(due)).rows.map(({ app_id }) => app_id))
    const shares = sharesOf(limit, turn++, dueIn(yield* shards, owing))
    return (yield* ask(shares, SHARDS_AT_ONCE, ({ appIds, share }) => take(only(appIds), share, appIds))).rows
  })

  return EveryTenant.of({ read, sweep, claim, silentServers: silent.names })
})

/** The servers that did not answer, each probed until it does. */
const silentServers = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const probes = yield* FiberMap.make<string>()
  const servers = new Set<string>()

  const probe = ({ appIds, server }: Shard) =>
    bounded(sql`SELECT 1 FROM tenants WHERE app_id = ANY (${appIds}::text[])`).pipe(
      Effect.delay(PROBE_EVERY),
      Effect.eventually,
      Effect.andThen(Effect.sync(() => servers.delete(server))),
      Effect.andThen(Effect.annotateLogs(Effect.logInfo("a database server answers again"), { database_server: server }))
    )

  /** The rows; null where they did not come, and then nothing is asked of that server before it answers a probe. */
  const watch = Effect.fnUntraced(function* <A>(shard: Shard, query: Query<A>) {
    const exit = yield* Effect.exit(bounded(query))
    if (Exit.isSuccess(exit)) return exit.value
    if (Cause.hasInterruptsOnly(exit.cause)) return yield* Effect.failCause(exit.cause)
    const { server } = shard
    if (servers.has(server)) return null
    servers.add(server)
    yield* Effect.annotateLogs(
      Effect.logError("a database server does not answer: what is due of its tenants waits", exit.cause),
      { database_server: server }
    )
    yield* FiberMap.run(probes, server, probe(shard))
    return null
  })

  return { has: (server: string) => servers.has(server), names: Effect.sync(() => [...servers].toSorted()), watch }
})

const bounded = <A>(query: Query<A>): Query<A> =>
  query.pipe(Effect.provideService(AnswerBoundMs, ANSWER_MS), Effect.provideService(PlannedAnew, true))

const byServer = (shards: ReadonlyArray<Shard>): ReadonlyArray<Shard> =>
  Object.entries(Arr.groupBy(shards, ({ server }) => server)).map(([server, own]) => ({
    server,
    appIds: own.flatMap(({ appIds }) => appIds)
  }))

/** Of each shard the tenants that have something due. */
export const dueIn = (shards: ReadonlyArray<Shard>, owing: ReadonlySet<string>): ReadonlyArray<Shard> =>
  shards
    .map((shard) => ({ ...shard, appIds: shard.appIds.filter((appId) => owing.has(appId)) }))
    .filter(({ appIds }) => appIds.length > 0)

/** What each shard may take: together `limit`, as evenly as whole numbers are, and each turn begins one shard further. */
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
