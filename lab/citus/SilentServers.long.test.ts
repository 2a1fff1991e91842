import { expect, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Logger } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { EveryTenant } from "../../src/persistence/cluster/EveryTenant.ts"
import { isSilence } from "../../src/persistence/cluster/SilentServers.ts"
import type { TenantFilter } from "../../src/persistence/connection/TenantFilter.ts"
import { WebhookEndpoints } from "../../src/services/ports/WebhookEndpoints.ts"
import { WebhookOutbox } from "../../src/services/ports/WebhookOutbox.ts"
import { eventually } from "../../test/support/SignedClient.ts"
import { givenNode } from "../../test/support/TestDatabase.ts"
import { endpoint, givenWaiting, LEASE_MS, NOW, put, tenantsOf } from "../../test/support/TestOutbox.ts"
import { FIRST, failing, givenTwoServers, RAISED, whileUnheard } from "./TwoServers.ts"

/** Two gateways, and a tenant on each server. */
const givenTwoNodes = Effect.gen(function* () {
  const servers = yield* givenTwoServers
  const [one, other] = yield* Effect.all([givenNode(servers.url), givenNode(servers.url)])
  return { ...servers, one, other }
})

it.live("a claim that waits on one server holds up no node's claim on another", () =>
  Effect.gen(function* () {
    const { first, one, other, owner, second } = yield* givenTwoNodes
    for (const name of [first, second]) {
      yield* put(Context.get(one, WebhookEndpoints), endpoint(name))
      yield* givenWaiting(owner, name, 1)
    }
    yield* owner`INSERT INTO webhook_flights (app_id, mode, ids, leased_until) VALUES (${first}, 'test', '{}', '{}')`
    const claim = (node: typeof one, limit: number) =>
      Effect.forkChild(Context.get(node, WebhookOutbox).claimDue(NOW, limit, 8, LEASE_MS))
    const [held, released] = yield* Effect.all([Deferred.make<void>(), Deferred.make<void>()])
    const sql = Context.get(other, SqlClient.SqlClient)
    const hold = sql`SELECT 1 FROM webhook_flights WHERE app_id = ${first} FOR UPDATE`.pipe(
      Effect.andThen(Deferred.succeed(held, undefined)),
      Effect.andThen(Deferred.await(released))
    )
    yield* Effect.forkChild(sql.withTransaction(hold))
    yield* Deferred.await(held)
    // A claim of one place begins on the first server, and waits there.
    const waits = yield* claim(one, 1)
    const waiting = owner`SELECT 1 FROM pg_locks WHERE NOT granted AND locktype IN ('transactionid', 'tuple')`
    yield* eventually(waiting, (rows) => rows.length > 0)
    const whole = yield* claim(other, 10)
    const leased = owner`SELECT 1 FROM webhook_flights WHERE app_id = ${second} AND cardinality(ids) = 1`
    yield* eventually(leased, (rows) => rows.length === 1)
    yield* Deferred.succeed(released, undefined)
    expect(tenantsOf(yield* Fiber.join(waits))).toEqual([first])
    expect(tenantsOf(yield* Fiber.join(whole))).toEqual([second])
  }).pipe(Effect.scoped)
)

it.live("a statement that fails on a server that answers makes no server a silent one, and loses no claim of the others", () =>
  Effect.gen(function* () {
    const { first, one, owner, second } = yield* givenTwoNodes
    yield* owner.unsafe(RAISED)
    const [sql, everyTenant] = [Context.get(one, SqlClient.SqlClient), Context.get(one, EveryTenant)]
    const broken = failing(sql, first, "22012")
    const all = (of: TenantFilter) => sql<{ app_id: string }>`SELECT app_id FROM tenant_directory WHERE true ${of("app_id")}`
    expect(Exit.isFailure(yield* Effect.exit(everyTenant.sweep(broken)))).toBe(true)
    expect(Exit.isFailure(yield* Effect.exit(everyTenant.read(broken)))).toBe(true)
    expect(yield* everyTenant.claim(8, { kind: "rows", due: all, take: broken })).toEqual([{ name: second }])
    // Where nothing was claimed it says why, as on one server.
    expect(Exit.isFailure(yield* Effect.exit(everyTenant.claim(1, { kind: "rows", due: all, take: broken })))).toBe(false)
    expect(Exit.isFailure(yield* Effect.exit(everyTenant.claim(1, { kind: "rows", due: all, take: broken })))).toBe(true)
    expect(yield* everyTenant.silentServers).toEqual([])
    expect((yield* everyTenant.read(all)).isWhole).toBe(true)
  }).pipe(Effect.scoped)
)

it.live("a server that is not heard stops its own tenants until it answers a probe", () =>
  Effect.gen(function* () {
    const { first, one, owner, second } = yield* givenTwoNodes
    yield* owner.unsafe(RAISED)
    const [sql, everyTenant] = [Context.get(one, SqlClient.SqlClient), Context.get(one, EveryTenant)]
    yield* whileUnheard(
      owner,
      Effect.gen(function* () {
        expect(yield* everyTenant.sweep(failing(sql, first, "08006"))).toEqual({ rows: [{ name: second }], isWhole: false })
        expect(yield* everyTenant.silentServers).toEqual([FIRST])
      })
    )
    yield* eventually(everyTenant.silentServers, (names) => names.length === 0)
  }).pipe(Effect.scoped)
)

it.live("a server of which one connection broke is not silent while it answers others", () =>
  Effect.gen(function* () {
    const { first, one, owner, second } = yield* givenTwoNodes
    yield* owner.unsafe(RAISED)
    const [sql, everyTenant] = [Context.get(one, SqlClient.SqlClient), Context.get(one, EveryTenant)]
    expect(yield* everyTenant.sweep(failing(sql, first, "08006"))).toEqual({ rows: [{ name: second }], isWhole: false })
    expect(yield* everyTenant.silentServers).toEqual([])
  }).pipe(Effect.scoped)
)

it.live("a statement that waits longer than anybody does makes its server no silent one", () =>
  Effect.gen(function* () {
    const { first, one, second } = yield* givenTwoNodes
    const [sql, everyTenant] = [Context.get(one, SqlClient.SqlClient), Context.get(one, EveryTenant)]
    const waits = (of: TenantFilter) => sql<{ name: string }>`
      SELECT app_id AS name FROM tenant_directory, LATERAL (SELECT pg_sleep(CASE WHEN app_id = ${first} THEN 12 ELSE 0 END)) s WHERE true ${of("app_id")}`
    expect(yield* everyTenant.sweep(waits)).toEqual({ rows: [{ name: second }], isWhole: false })
    expect(yield* everyTenant.silentServers).toEqual([])
  }).pipe(Effect.scoped)
)

it.live("a server is probed also when who found it silent is gone", () =>
  Effect.gen(function* () {
    const { first, one, owner } = yield* givenTwoNodes
    yield* owner.unsafe(RAISED)
    const [sql, everyTenant] = [Context.get(one, SqlClient.SqlClient), Context.get(one, EveryTenant)]
    const asking: { fiber: Fiber.Fiber<unknown, unknown> | null; told: number } = { fiber: null, told: 0 }
    const goes = Logger.make(({ message }) => {
      if (!String(message).includes("does not answer")) return
      asking.told += 1
      asking.fiber?.interruptUnsafe()
    })
    yield* whileUnheard(
      owner,
      Effect.gen(function* () {
        asking.fiber = yield* Effect.forkChild(
          Effect.provide(everyTenant.sweep(failing(sql, first, "08006")), Logger.layer([goes]))
        )
        yield* eventually(
          Effect.sync(() => asking.told),
          (told) => told > 0
        )
        yield* Fiber.await(asking.fiber)
      })
    )
    yield* eventually(everyTenant.silentServers, (names) => names.length === 0)
  }).pipe(Effect.scoped)
)

it.live("a server that always takes long to say what is due is claimed from, and the others do not wait for it", () =>
  Effect.gen(function* () {
    const { first, one, second } = yield* givenTwoNodes
    const [sql, everyTenant] = [Context.get(one, SqlClient.SqlClient), Context.get(one, EveryTenant)]
    const logged: Array<string> = []
    const due = (of: TenantFilter) => sql<{ app_id: string }>`
      SELECT app_id FROM tenant_directory, LATERAL (SELECT pg_sleep(CASE WHEN app_id = ${first} THEN 0.8 ELSE 0 END)) s WHERE true ${of("app_id")}`
    const take = (of: TenantFilter) =>
      sql<{ name: string }>`SELECT app_id AS name FROM tenant_directory WHERE true ${of("app_id")}`
    const claimed: Array<string> = []
    const claim = Effect.map(everyTenant.claim(8, { kind: "rows", due, take }), (rows) => {
      claimed.push(...rows.map(({ name }) => name))
      return claimed.filter((name) => name === first).length
    })
    yield* eventually(claim, (times) => times >= 3).pipe(
      Effect.provide(Logger.layer([Logger.make(({ message }) => void logged.push(String(message)))]))
    )
    expect(claimed.filter((name) => name === second).length).toBeGreaterThan(3)
    expect(logged.filter((message) => message.includes("takes long to say what is due"))).toHaveLength(1)
  }).pipe(Effect.scoped)
)

it.live("a claim from slow shards takes for one second, and the next ones begin further on", () =>
  Effect.gen(function* () {
    const { names, one, owner } = yield* givenTwoNodes
    yield* owner`INSERT INTO tenant_directory (app_id, bucket) SELECT unnest(${names}::text[]), 0 ON CONFLICT DO NOTHING`
    const [sql, everyTenant] = [Context.get(one, SqlClient.SqlClient), Context.get(one, EveryTenant)]
    const all = (of: TenantFilter) => sql<{ app_id: string }>`SELECT app_id FROM tenant_directory WHERE true ${of("app_id")}`
    yield* eventually(everyTenant.read(all), ({ rows }) => rows.length === names.length)
    const take = (of: TenantFilter) =>
      sql<{ name: string }>`SELECT app_id AS name FROM tenant_directory, LATERAL (SELECT pg_sleep(1.2)) s
        WHERE true ${of("app_id")}`
    const claim = Effect.map(everyTenant.claim(60, { kind: "rows", due: all, take }), (rows) => rows.map(({ name }) => name))
    const [earlier, later] = [yield* claim, yield* claim]
    expect([earlier.length, later.length]).toEqual([4, 4])
    expect(new Set([...earlier, ...later]).size).toBeGreaterThan(4)
  }).pipe(Effect.scoped)
)

it.live("what one server has at most is known when that server has said it", () =>
  Effect.gen(function* () {
    const { first, one, second } = yield* givenTwoNodes
    const [sql, everyTenant] = [Context.get(one, SqlClient.SqlClient), Context.get(one, EveryTenant)]
    const slow = (of: TenantFilter) => sql<{ name: string }>`
      SELECT app_id AS name FROM tenant_directory, LATERAL (SELECT pg_sleep(CASE WHEN app_id = ${first} THEN 60 ELSE 0 END)) s WHERE true ${of("app_id")}`
    expect(yield* everyTenant.find(slow)).toEqual({ rows: [{ name: second }], isWhole: true })
    const none = (of: TenantFilter) => sql`SELECT app_id FROM tenant_directory WHERE false ${of("app_id")}`
    expect(yield* everyTenant.find(none)).toEqual({ rows: [], isWhole: true })
  }).pipe(Effect.scoped)
)

const { ConnectionError, LockTimeoutError, StatementTimeoutError, UnknownError } = SqlError
const told = (code: string) => ({ cause: { code }, operation: "query" })
const unheard = (operation: string) => new ConnectionError({ cause: new Error("silent"), operation })
const isSilent = (reason: SqlError.SqlErrorReason) => isSilence(new SqlError.SqlError({ reason }))

it("only broken connections and timeouts are silence", () => {
  const silences = [
    new ConnectionError(told("08006")),
    new UnknownError(told("57P01")),
    new StatementTimeoutError(told("57014")),
    unheard("query")
  ]
  expect(silences.map(isSilent)).toEqual([true, true, true, true])
  const others = [new UnknownError(told("22012")), new LockTimeoutError(told("55P03")), unheard("connect")]
  expect(others.map(isSilent)).toEqual([false, false, false])
})
