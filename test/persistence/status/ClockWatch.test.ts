import { expect, it } from "@effect/vitest"
import { Clock, Context, Effect, Layer, Option, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { UNWATCHED_AT_MOST_MS } from "../../../src/domain/ClockDoubt.ts"
import { Ports } from "../../../src/Ports.ts"
import { ClockSkew, DatabaseClock, MachineTime } from "../../../src/persistence/connection/DatabaseClock.ts"
import { Database } from "../../../src/persistence/Database.ts"
import { makeRetentionRound } from "../../../src/services/DataRetention.ts"
import { AuditLog } from "../../../src/services/ports/AuditLog.ts"
import { ClockTrust, ClockWatch } from "../../../src/services/ports/ClockWatch.ts"
import { Nonces } from "../../../src/services/ports/Nonces.ts"
import { policy } from "../../fakes/FakePolicy.ts"
import { caller } from "../../support/RawHttp.ts"
import { auditEntry, givenDatabase, masterKey } from "../../support/TestDatabase.ts"

const DAY_MS = 86_400_000
const AHEAD_MS = 91 * DAY_MS

/** A node on that database, and its machine's clocks, which can be moved: the database's cannot, and only the difference matters. */
const givenNode = Effect.fnUntraced(function* (databaseUrl: Redacted.Redacted) {
  const clock = yield* Clock.Clock
  const machine = { off: 0, slept: 0 }
  const read = Effect.sync(() => {
    const timeOfDay = clock.currentTimeMillisUnsafe() + machine.off
    return { timeOfDay, uptimeMs: timeOfDay - machine.slept }
  })
  const ports = yield* Layer.build(
    Layer.fresh(Ports.layer({ databaseUrl, masterKey, policy })).pipe(
      Layer.provide(Layer.succeed(MachineTime, { name: "node-1", read }))
    )
  )
  const watch = Context.get(ports, ClockWatch)
  const round = yield* Effect.provideContext(makeRetentionRound, ports)
  const doubt = Effect.map(watch.standing, (standing) => standing.doubt)
  const confirmed = Effect.flatMap(watch.standing, ({ database }) =>
    watch.confirm(database, auditEntry({ action: "clock confirm" }))
  )
  return { machine, ports, sql: Context.get(ports, SqlClient.SqlClient), watch, look: watch.look, round, doubt, confirmed }
})

/** A row of each kind that is removed by its age: made a minute ago, before the clock went ahead. */
const minuteOld = (sql: SqlClient.SqlClient) =>
  Effect.all([
    sql`INSERT INTO idempotency_keys (app_id, mode, endpoint, key, fingerprint, state, lease_until, created_at)
      VALUES ('acme', 'live', 'POST /v1/payouts', 'a', '', 'claimed', now() - interval '91 days', now() - interval '91 days 1 minute')`,
    sql`INSERT INTO counters (app_id, mode, name, subject, starts_at) VALUES ('acme', 'live', 'hour', 's', now() - interval '91 days 1 minute')`,
    sql`INSERT INTO nonces (app_id, key_id, nonce, expires_at) VALUES ('acme', 'k', 'n', now() - interval '91 days')`,
    sql`INSERT INTO payer_locks (app_id, mode, party_hash, at) VALUES ('acme', 'live', 'hash', now() - interval '91 days 1 minute')`,
    sql`INSERT INTO events (id, app_id, mode, type, reference, body, created_at)
      VALUES ('E', 'acme', 'live', 'payout.pending', 'R', '{}', now() - interval '91 days 1 minute')`,
    sql`INSERT INTO provider_inbox (id, provider, mode, digest, received_at, status)
      VALUES ('C', 'p', 'live', sha256('c'), now() - interval '91 days 1 minute', 'done')`
  ])
const KINDS = ["idempotency_keys", "counters", "nonces", "payer_locks", "events", "provider_inbox"]

const left = (sql: SqlClient.SqlClient) =>
  Effect.map(
    sql.unsafe<{ kind: string }>(KINDS.map((kind) => `SELECT '${kind}' AS kind FROM ${kind}`).join(" UNION ALL ")),
    (rows) => rows.map(({ kind }) => kind)
  )

it.live("rows a minute old outlive a database's clock that jumps 91 days ahead, until somebody confirms it", () =>
  Effect.gen(function* () {
    const url = yield* givenDatabase
    const [node, other] = [yield* givenNode(url), yield* givenNode(url)]
    expect(Option.isSome(yield* node.look)).toBe(true)
    yield* minuteOld(node.sql)
    yield* node.sql`UPDATE clock_watch SET trusted_until = trusted_until - interval '91 days'`
    // As seen from the machines, which count right.
    node.machine.off = -AHEAD_MS
    yield* node.round
    expect(yield* left(node.sql)).toEqual(KINDS)
    expect(yield* node.doubt).toBe("the database's clock went forward by 91.0 days more than time passed")
    // The first doubt stays, and stops a node that has seen nothing wrong.
    yield* other.round
    expect(yield* left(node.sql)).toEqual(KINDS)
    expect(yield* other.doubt).toBe("the database's clock went forward by 91.0 days more than time passed")
    // Not even clocks that agree again end it.
    node.machine.off = 0
    yield* node.round
    expect(yield* left(node.sql)).toEqual(KINDS)
    expect(yield* node.confirmed).toBe(true)
    yield* node.round
    expect(yield* left(node.sql)).toEqual([])
    expect(yield* node.doubt).toBe(null)
  }).pipe(Effect.scoped)
)

it.live("a doubt is confirmed once, by who knows the time, and its row stands in the audit log", () =>
  Effect.gen(function* () {
    const url = yield* givenDatabase
    const [node, late] = [yield* givenNode(url), yield* givenNode(url)]
    // The first look at a new database is believed, and so is the next one.
    expect([Option.isSome(yield* node.look), Option.isSome(yield* late.look), yield* node.doubt]).toEqual([true, true, null])
    expect(yield* node.confirmed).toBe(false)
    yield* node.sql`UPDATE clock_watch SET trusted_until = trusted_until - ${UNWATCHED_AT_MOST_MS + DAY_MS} * interval '1 millisecond'`
    expect(Option.isNone(yield* node.look)).toBe(true)
    expect(yield* node.doubt).toMatch(/^no gateway has vouched for the database's clock for 8\.0 days, since /)
    const { database } = yield* node.watch.standing
    for (const wrong of [-130_000, 130_000])
      expect(yield* node.watch.confirm(database + wrong, auditEntry({ action: "clock confirm" }))).toBe(false)
    // Both saw the clock jump, and one of them has not looked since.
    for (const { machine } of [node, late]) machine.slept = 60_000
    expect(Option.isNone(yield* node.look)).toBe(true)
    expect([yield* node.confirmed, yield* node.confirmed]).toEqual([true, false])
    expect((yield* Context.get(node.ports, AuditLog).list(10)).map(({ action }) => action)).toEqual(["clock confirm"])
    // What was before the confirmation is no news to either.
    expect([Option.isSome(yield* node.look), Option.isSome(yield* late.look), yield* node.doubt]).toEqual([true, true, null])
  }).pipe(Effect.scoped)
)

it.live(
  "a machine whose own clock is wrong stops all nodes, again after each confirmation until it is mended, and no right one ends it",
  () =>
    Effect.gen(function* () {
      const url = yield* givenDatabase
      const [right, wrong] = [yield* givenNode(url), yield* givenNode(url)]
      wrong.machine.off = 660_000
      const looks = Effect.map(Effect.all([right.look, wrong.look, right.look]), (all) => all.map(Option.isSome))
      expect(yield* looks).toEqual([true, false, false])
      for (let again = 0; again < 3; again++) expect(yield* looks).toEqual([false, false, false])
      expect(yield* right.doubt).toMatch(/^the database's clock is 6\d\d\.\d s behind the clock of node-1$/)
      expect(yield* right.confirmed).toBe(true)
      expect(yield* looks).toEqual([true, false, false])
      wrong.machine.off = 0
      expect(yield* right.confirmed).toBe(true)
      expect(yield* looks).toEqual([true, true, true])
    }).pipe(Effect.scoped)
)

it.live("every process knows which nonces are gone with the very time that it reads", () =>
  Effect.gen(function* () {
    const url = yield* givenDatabase
    const node = yield* givenNode(url)
    const { look, ports, sql } = node
    const { prune, spend } = Context.get(ports, Nonces)
    const known = Effect.gen(function* () {
      const time = yield* Layer.build(Layer.fresh(DatabaseClock).pipe(Layer.provideMerge(Database.layer({ url }))))
      expect(Math.abs(yield* Context.get(time, ClockSkew).milliseconds)).toBeLessThan(2_000)
      const { noncesUntil, trustedUntil } = Context.get(time, ClockTrust)
      return [yield* noncesUntil, yield* trustedUntil]
    })
    expect(yield* known).toEqual([Number.NEGATIVE_INFINITY, 0])
    const now = Option.getOrThrow(yield* look)
    for (const [nonce, expiresAt] of [
      ["a", now - 5_000],
      ["b", now - 2_000],
      ["c", now + 60_000]
    ] as const)
      yield* spend({ caller, nonce, expiresAt })
    // Known before anything is gone, of all that this step may remove and of nothing else.
    expect([yield* prune(now, 1), yield* known]).toEqual([1, [now - 5_000, now]])
    expect([yield* prune(now, 10), yield* prune(now, 10), yield* known]).toEqual([1, 0, [now - 2_000, now]])
    expect(yield* sql`SELECT nonce FROM nonces`).toEqual([{ nonce: "c" }])
  }).pipe(Effect.scoped)
)
