import { lookup } from "node:dns/promises"
import { connect, isIP, type Socket } from "node:net"
import type * as PgConnection from "@effect/sql-pg/PgConnection"
import * as PgPool from "@effect/sql-pg/PgPool"
import { Clock, Context, Deferred, Effect, Exit, Fiber, Scope } from "effect"
import type { SqlError } from "effect/sql"
import type { DatabaseServer } from "./DatabaseServers.ts"
import { reasonOf, refused } from "./FailureText.ts"
import { choosePrimary, type Known, laterWord, type Remembered, type SeenServer, unfitStandbys } from "./PrimaryChoice.ts"
import { type ServerFacts, serverFacts } from "./ServerFacts.ts"

/** Why no server of the database can be written to, in one line; null when one can. Known without a query. */
export const NoPrimary = Context.Reference<Effect.Effect<string | null>>("gateway/persistence/servers/NoPrimary", {
  defaultValue: () => Effect.succeed(null)
})

const LOOKED_EVERY = "1 second"
/** While no server accepts writes, each statement triggers a check; statements within this time share one. */
const LOOK_AGAIN_NANOS = 200_000_000n

/** Of several servers behind one address, the next attempt may reach the right one. */
const REFUSED_AT_MOST = 3

/** The highest timeline of each cluster's primaries seen so far: they only grow, so a newer one proves that an older is over. */
const highestTimelines = new Map<string, number>()
const highestTimeline = (cluster: string): number => highestTimelines.get(cluster) ?? 0
const remember = ({ cluster, isStandby, timeline }: ServerFacts): void => {
  if (!isStandby && timeline !== null && timeline > highestTimeline(cluster)) highestTimelines.set(cluster, timeline)
}

interface Primary {
  readonly name: string
  readonly pool: ServerPool
  readonly facts: ServerFacts
}

/** The pool's connections, and reserved ones. */
export interface Connections {
  readonly get: Effect.Effect<PgConnection.PgConnection, SqlError.SqlError, Scope.Scope>
  readonly reserve: Effect.Effect<PgConnection.PgConnection, SqlError.SqlError, Scope.Scope>
  readonly invalidate: (connection: PgConnection.PgConnection) => Effect.Effect<void>
  /** Why no server can be written to, at most a second old; null when one can. */
  readonly refusal: Effect.Effect<string | null>
}

/**
 * Connections to the one of several servers that may be written to. All servers are checked every second, and whenever a
 * connection cannot be had. When another server becomes the primary, connections to the previous one are cut. A new connection
 * is checked before its first use, because another server may be behind the same address now.
 */
export const makePrimaryPool = Effect.fnUntraced(function* (config: PgPool.Config, servers: ReadonlyArray<DatabaseServer>) {
  const scope = yield* Effect.scope
  const clock = yield* Clock.Clock
  const probes = yield* makeServerProbes(config, servers)
  /** The server that each connection reached. */
  const reached = new WeakMap<PgConnection.PgConnection, { readonly pool: ServerPool; readonly startedAt: string }>()
  const pools = new Map<string, ServerPool>()
  const standbys = standbyTimelines()
  let primary: Primary | null = null
  let cluster: string | null = null
  /** Why the last check found no server. */
  let refusal: string | null = null
  let unfit = ""
  let looking: Deferred.Deferred<void> | null = null
  let lookedAt: bigint | null = null

  const known = (): Known => ({
    cluster,
    highestTimeline,
    standbys: standbys.last,
    accepted: primary && { ...primary.facts, name: primary.name }
  })

  const turnTo = Effect.fnUntraced(function* (name: string, listener: Listener, facts: ServerFacts) {
    const before = primary
    refusal = null
    const pool = pools.get(name) ?? (yield* Scope.provide(makeServerPool(config, listener), scope))
    pools.set(name, pool)
    primary = { name, facts, pool }
    if (before?.name === name) return
    const about = { note: `${name}, timeline ${facts.timeline}` }
    if (cluster === null) yield* Effect.annotateLogs(Effect.logInfo("the database is written to at this server"), about)
    else yield* Effect.annotateLogs(Effect.logWarning("from now on the database is written to at this server"), about)
    cluster = facts.cluster
    if (before !== null) yield* before.pool.cut
  })

  const turnAway = Effect.fnUntraced(function* (why: string, seen: ReadonlyArray<SeenServer>) {
    if (refusal !== why) yield* Effect.annotateLogs(Effect.logError("no server of the database can be written to"), { note: why })
    refusal = why
    // The next check opens new sessions: behind one address the wrong primary may have been checked, and the right one not.
    if (seen.some(({ facts }) => typeof facts !== "string" && !facts.isStandby)) yield* probes.forget
    if (primary === null) return
    const { facts: accepted, name: own, pool } = primary
    // A server that does not answer may be slow, and another one may answer at its address. Its own connections show its end.
    const isToldByItself = seen.some(
      ({ facts, name }) => name === own && typeof facts !== "string" && facts.startedAt === accepted.startedAt
    )
    if (!isToldByItself) return
    primary = null
    yield* pool.cut
  })

  const look = Effect.gen(function* () {
    const seen = yield* probes.all
    for (const one of seen) {
      if (typeof one.facts !== "string") remember(one.facts)
      standbys.seen(one)
    }
    if (!seen.some(({ facts }) => facts === NO_ADDRESS)) standbys.forgetOthers(seen)
    const before = unfit
    unfit = unfitStandbys(seen).join("; ")
    if (unfit !== "" && unfit !== before)
      yield* Effect.annotateLogs(Effect.logWarning("a standby of the database will be refused when it is promoted"), {
        note: unfit
      })
    const choice = choosePrimary(seen, known())
    if ("refusal" in choice) return yield* turnAway(choice.refusal, seen)
    const { facts, listener, name } = choice.server
    yield* turnTo(name, listener, facts)
  })

  const lookAgain = Effect.suspend(() => {
    if (looking !== null) return Deferred.await(looking)
    if (lookedAt !== null && clock.monotonicTimeNanosUnsafe() - lookedAt < LOOK_AGAIN_NANOS) return Effect.void
    const over = Deferred.makeUnsafe<void>()
    looking = over
    const looked = Effect.ensuring(
      look,
      Effect.suspend(() => {
        looking = null
        lookedAt = clock.monotonicTimeNanosUnsafe()
        return Deferred.succeed(over, undefined)
      })
    )
    return Effect.andThen(Effect.forkIn(looked, scope, { startImmediately: true }), Deferred.await(over))
  })
  yield* Effect.forkScoped(Effect.forever(Effect.delay(lookAgain, LOOKED_EVERY)))

  /** Why a connection that was not checked yet must not be used, or null. */
  const accept = Effect.fnUntraced(function* (own: Primary, connection: PgConnection.PgConnection) {
    const facts = yield* serverFacts(connection)
    remember(facts)
    standbys.seen({ name: own.name, facts })
    const choice = choosePrimary([{ name: own.name, facts }], known())
    if ("refusal" in choice) return choice.refusal
    reached.set(connection, { pool: own.pool, startedAt: facts.startedAt })
    if (primary?.pool !== own.pool || primary.facts.startedAt === facts.startedAt) return null
    // Another server, or the same one after a restart: sessions to the one before say nothing about it.
    primary = { ...own, facts }
    yield* probes.forget
    return null
  })

  const connect: Connections["get"] = Effect.gen(function* () {
    let why: string | null = null
    for (let tried = 0; tried <= (config.maxConnections ?? 1) + REFUSED_AT_MOST; tried++) {
      const own = primary
      if (own === null) break
      // Returned to the pool if it is the wrong one, because a pool of one connection has no other.
      const tryScope = yield* Scope.fork(yield* Effect.scope)
      const connection = yield* Scope.provide(own.pool.get, tryScope)
      why = reached.has(connection) ? null : yield* accept(own, connection)
      if (why === null && reached.get(connection)?.startedAt === primary?.facts.startedAt) return connection
      yield* own.pool.invalidate(connection)
      yield* Scope.close(tryScope, Exit.void)
    }
    return yield* refused(why ?? refusal ?? "the database's primary changes")
  })

  const get = Effect.suspend(() => (primary === null ? Effect.andThen(lookAgain, connect) : connect)).pipe(
    Effect.catchTag("SqlError", (error) => {
      const before = primary
      return Effect.flatMap(lookAgain, () => {
        if (refusal !== null) return refused(refusal)
        return primary === before ? Effect.fail(error) : connect
      })
    })
  )
  const reserve = Effect.flatMap(get, (connection) =>
    Effect.tap(connection.pin, (pinned) =>
      Effect.sync(() => {
        const own = reached.get(connection)
        if (own !== undefined) reached.set(pinned, own)
      })
    )
  )
  const invalidate: Connections["invalidate"] = (connection) =>
    reached.get(connection)?.pool.invalidate(connection) ?? Effect.void
  return { get, reserve, invalidate, refusal: Effect.sync(() => refusal) }
})

/**
 * The last timeline that each standby reported, even while it does not answer: a standby that follows a newer primary proves
 * that the older ones are over. A rebuilt standby's older timeline is believed; one no longer named does not count.
 */
export const standbyTimelines = () => {
  const last = new Map<string, Remembered>()
  const known: ReadonlyMap<string, Remembered> = last
  return {
    last: known,
    seen: ({ facts, name }: SeenServer): void => {
      if (typeof facts !== "string" && facts.isStandby && facts.timeline !== null)
        last.set(name, laterWord(last.get(name), facts))
    },
    /** Called after every server was looked up under every name. */
    forgetOthers: (seen: ReadonlyArray<SeenServer>): void => {
      const names = new Set(seen.map(({ name }) => name))
      for (const name of last.keys()) if (!names.has(name)) last.delete(name)
    }
  }
}

/** A server that does not answer within this time is skipped. */
const FACTS_WITHIN = "2 seconds"

/** The result for a server whose name does not resolve. */
const NO_ADDRESS = "its name has no address"

/** The addresses of a name, as the system resolves it. */
export const DatabaseNames = Context.Reference<(host: string) => Promise<ReadonlyArray<string>>>(
  "gateway/persistence/servers/DatabaseNames",
  { defaultValue: () => async (host) => (await lookup(host, { all: true, order: "verbatim" })).map(({ address }) => address) }
)

interface Probe extends SeenServer {
  readonly listener: Listener
}

/**
 * Queries the facts of every server at each of its addresses, over sessions that stay open, so that a query every second causes
 * no log-ins. `forget` closes them, so that the next query reaches whatever listens there by then.
 */
const makeServerProbes = Effect.fnUntraced(function* (config: PgPool.Config, servers: ReadonlyArray<DatabaseServer>) {
  const scope = yield* Effect.scope
  const addressesOf = yield* DatabaseNames
  const sessions = new Map<string, ServerPool>()
  const settings = { ...config, connectTimeout: FACTS_WITHIN, maxConnections: 1 } satisfies PgPool.Config

  const session = Effect.fnUntraced(function* (name: string, listener: Listener) {
    const open = sessions.get(name)
    if (open !== undefined) return open
    const opened = yield* Scope.provide(makeServerPool(settings, listener), scope)
    sessions.set(name, opened)
    return opened
  })

  const ask = Effect.fnUntraced(function* (name: string, listener: Listener) {
    const own = yield* session(name, listener)
    const query = yield* Effect.forkIn(Effect.scoped(Effect.flatMap(own.get, serverFacts)), scope, { startImmediately: true })
    const facts = yield* Fiber.join(query).pipe(
      Effect.catchTag("SqlError", ({ reason }) => Effect.succeed(reasonOf(reason))),
      Effect.timeoutOrElse({ duration: FACTS_WITHIN, orElse: () => Effect.as(own.cut, "does not answer") })
    )
    return { name, facts, listener } satisfies Probe
  })

  const resolved = ({ host }: DatabaseServer) =>
    host.startsWith("/") || isIP(host) !== 0
      ? Effect.succeed([host])
      : Effect.tryPromise(() => addressesOf(host)).pipe(
          Effect.timeout(FACTS_WITHIN),
          Effect.orElseSucceed((): ReadonlyArray<string> => [])
        )

  const probe = Effect.fnUntraced(function* (server: DatabaseServer) {
    const { host, port } = server
    const addresses = yield* resolved(server)
    const name = host.startsWith("/") ? host : `${host}:${port}`
    if (addresses.length === 0) return [{ name, facts: NO_ADDRESS, listener: { host, port, address: host } } satisfies Probe]
    return yield* Effect.forEach(
      addresses,
      // Named so even when a name has one address, because it may get a second one.
      (address) => ask(address === host ? name : `${name} (${address})`, { host, port, address }),
      { concurrency: "unbounded" }
    )
  })

  return {
    all: Effect.map(
      Effect.forEach(servers, probe, { concurrency: "unbounded" }),
      (probes): ReadonlyArray<Probe> => probes.flat()
    ),
    forget: Effect.suspend(() => Effect.forEach([...sessions.values()], ({ cut }) => cut, { discard: true }))
  }
})

/** Where a server listens: an address of its name, or the path of a socket. */
interface Listener {
  readonly host: string
  readonly address: string
  readonly port: number
}

/** The connections to one server, which can all be cut at once. */
interface ServerPool {
  readonly get: Effect.Effect<PgConnection.PgConnection, SqlError.SqlError, Scope.Scope>
  readonly invalidate: (connection: PgConnection.PgConnection) => Effect.Effect<void>
  /** Statements in progress fail as if the server had died; no cancel request is sent. */
  readonly cut: Effect.Effect<void>
}

/** A pool of connections to this server only, whatever else its address names. */
const makeServerPool = Effect.fnUntraced(function* (config: PgPool.Config, { address, host, port }: Listener) {
  const sockets = new Set<Socket>()
  const stream = () => {
    const socket = address.startsWith("/")
      ? connect({ path: `${address}/.s.PGSQL.${port}` })
      : // A statement is one write and then a wait for its answer: there is nothing to gather.
        connect({ host: address, port, noDelay: true })
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
    return socket
  }
  const pool = yield* PgPool.make({ ...config, host, port, stream })
  // The pool stays open: closing it would interrupt a caller that waits for a connection and should get one to another server.
  const cut = Effect.sync(() => {
    for (const socket of sockets) socket.destroy()
  })
  return { get: pool.get, invalidate: pool.invalidate, cut } satisfies ServerPool
})
