import { expect, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { EveryTenant } from "../../src/persistence/EveryTenant.ts"
import { isSilence } from "../../src/persistence/SilentServers.ts"
import type { TenantFilter } from "../../src/persistence/TenantFilter.ts"
import { WebhookEndpoints } from "../../src/services/ports/WebhookEndpoints.ts"
import { WebhookOutbox } from "../../src/services/ports/WebhookOutbox.ts"
import { eventually } from "../support/SignedClient.ts"
import { asOwner } from "../support/Stack.ts"
import { givenDatabase, givenNode } from "../support/TestDatabase.ts"
import { endpoint, givenWaiting, LEASE_MS, NOW, put, tenantsOf } from "../support/TestOutbox.ts"
import { standInForCitus } from "./StandIn.ts"

// One server stands in for two: what one of them does must not stop the tenants of the other.

const FIRST = "first.example:5432"

/** Two gateways, and a tenant on each server. */
const givenTwoServers = Effect.gen(function* () {
  const url = yield* givenDatabase
  yield* standInForCitus(url)
  const owner = yield* asOwner(url)
  const names = yield* owner<{ name: string }>`
    SELECT DISTINCT ON (place) name FROM (
      SELECT 't' || n AS name, get_shard_id_for_distribution_column('transactions', 't' || n) AS place FROM generate_series(1, 99) AS n
    ) named ORDER BY place`
  const [first = "", second = ""] = names.map(({ name }) => name)
  for (const name of [first, second]) yield* owner`INSERT INTO tenant_directory (app_id, bucket) VALUES (${name}, 0)`
  const [one, other] = yield* Effect.all([givenNode(url), givenNode(url)])
  return { owner, first, second, one, other }
})

/** Fails for the tenants of whatever server has `whose`, by what it is told to raise. */
const failing = (sql: SqlClient.SqlClient, whose: string, state: string) => (of: TenantFilter) =>
  sql<{ name: string }>`SELECT CASE WHEN app_id = ${whose} THEN raised(${state}) ELSE app_id END AS name
    FROM tenant_directory WHERE true ${of("app_id")}`

const RAISED = `CREATE FUNCTION raised(state text) RETURNS text LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'raised' USING ERRCODE = state; END $$`

it.live("a claim that waits on one server holds up no node's claim on another", () =>
  Effect.gen(function* () {
    const { first, one, other, owner, second } = yield* givenTwoServers
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
    const { first, one, owner, second } = yield* givenTwoServers
    yield* owner.unsafe(RAISED)
    const [sql, everyTenant] = [Context.get(one, SqlClient.SqlClient), Context.get(one, EveryTenant)]
    const broken = failing(sql, first, "22012")
    const all = (of: TenantFilter) => sql<{ app_id: string }>`SELECT app_id FROM tenant_directory WHERE true ${of("app_id")}`
    expect(Exit.isFailure(yield* Effect.exit(everyTenant.sweep(broken)))).toBe(true)
    expect(Exit.isFailure(yield* Effect.exit(everyTenant.read(broken)))).toBe(true)
    expect(yield* everyTenant.claim(8, { due: all, take: broken })).toEqual([{ name: second }])
    // Where nothing was claimed it says why, as on one server.
    expect(Exit.isFailure(yield* Effect.exit(everyTenant.claim(1, { due: all, take: broken })))).toBe(false)
    expect(Exit.isFailure(yield* Effect.exit(everyTenant.claim(1, { due: all, take: broken })))).toBe(true)
    expect(yield* everyTenant.silentServers).toEqual([])
    expect((yield* everyTenant.read(all)).isWhole).toBe(true)
  }).pipe(Effect.scoped)
)

it.live("a server that is not heard stops its own tenants until it answers a probe", () =>
  Effect.gen(function* () {
    const { first, one, owner, second } = yield* givenTwoServers
    yield* owner.unsafe(RAISED)
    const [sql, everyTenant] = [Context.get(one, SqlClient.SqlClient), Context.get(one, EveryTenant)]
    expect(yield* everyTenant.sweep(failing(sql, first, "08006"))).toEqual({ rows: [{ name: second }], isWhole: false })
    expect(yield* everyTenant.silentServers).toEqual([FIRST])
    yield* eventually(everyTenant.silentServers, (names) => names.length === 0)
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
