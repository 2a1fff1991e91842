import { lookup } from "node:dns/promises"
import { isIP } from "node:net"
import type * as PgPool from "@effect/sql-pg/PgPool"
import { Context, Effect, Fiber, Scope } from "effect"
import type { DatabaseServer } from "./DatabaseServers.ts"
import { reasonOf } from "./FailureText.ts"
import type { SeenServer } from "./PrimaryChoice.ts"
import { serverFacts } from "./ServerFacts.ts"
import { type Listener, makeServerPool, type ServerPool } from "./ServerPool.ts"

/** A server that says nothing for so long is passed over. */
const FACTS_WITHIN = "2 seconds"

/** Told of a server whose name is not resolved now. */
export const NO_ADDRESS = "its name has no address"

/** The addresses of a name, as the system resolves it. */
export const DatabaseNames = Context.Reference<(host: string) => Promise<ReadonlyArray<string>>>(
  "gateway/persistence/servers/DatabaseNames",
  { defaultValue: () => async (host) => (await lookup(host, { all: true, order: "verbatim" })).map(({ address }) => address) }
)

/** What was seen at one address. */
export interface Probe extends SeenServer {
  readonly listener: Listener
}

/**
 * Asks every address of every server what it is, each over a session that stays open: a question a second costs the servers no logins.
 * `forget` closes them, so that the next question goes to whatever listens there by then.
 */
export const makeServerProbes = Effect.fnUntraced(function* (config: PgPool.Config, servers: ReadonlyArray<DatabaseServer>) {
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
    const asked = yield* Effect.forkIn(Effect.scoped(Effect.flatMap(own.get, serverFacts)), scope, { startImmediately: true })
    const facts = yield* Fiber.join(asked).pipe(
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
      // Also where a name has one address: by tomorrow it may have two.
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
