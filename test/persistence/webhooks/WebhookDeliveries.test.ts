import { describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { expect } from "vitest"
import { AppId, Reference } from "../../../src/domain/Ids.ts"
import { DEFAULT_ENDPOINT } from "../../../src/domain/WebhookEndpoint.ts"
import { makeHeavyReads } from "../../../src/persistence/connection/HeavyReads.ts"
import { makeEventRetention } from "../../../src/services/DataRetention.ts"
import { AuditLog } from "../../../src/services/ports/AuditLog.ts"
import { type DeliveryCursor, WebhookDeliveries } from "../../../src/services/ports/WebhookDeliveries.ts"
import { WebhookEndpoints } from "../../../src/services/ports/WebhookEndpoints.ts"
import { WebhookOutbox } from "../../../src/services/ports/WebhookOutbox.ts"
import { waitsForLock } from "../../support/LockWaits.ts"
import { auditEntry, givenDatabase, givenNode, newReference } from "../../support/TestDatabase.ts"

type Page = Effect.Success<ReturnType<WebhookDeliveries["Service"]["list"]>>

const DAY_MS = 24 * 3_600_000
const acme = AppId.make("acme")
const idOf = (n: number) => Reference.make(String(n).padStart(26, "0"))

const given = Effect.gen(function* () {
  const node = yield* givenNode(yield* givenDatabase)
  const sql = Context.get(node, SqlClient.SqlClient)
  yield* Context.get(node, WebhookEndpoints).put({
    appId: acme,
    mode: "test",
    name: DEFAULT_ENDPOINT,
    url: "https://acme.example/",
    events: ["payout.failed"],
    enabled: true,
    secret: Redacted.make("whsec_acme"),
    rotatesUntil: null,
    at: 0,
    change: auditEntry()
  })

  /** Events 1 to `count`, one a millisecond, and a delivery of each where a status says so. */
  const events = (count: number, type = "payout.failed", status: "due" | "delivered" | "parked" | null = null, from = 0) =>
    sql`WITH made AS (
        INSERT INTO events (app_id, id, mode, type, body, created_at)
        SELECT 'acme', lpad((${from}::int + n)::text, 26, '0'), 'test', ${type}, '{}', to_timestamp((${from}::int + n) / 1000.0)
        FROM generate_series(1, ${count}::int) AS n RETURNING *
      ), sent AS (
        INSERT INTO deliveries (app_id, id, mode, event_id, status, next_attempt_at, created_at)
        SELECT app_id, id, mode, id, ${status}, CASE ${status}::text WHEN 'due' THEN created_at END, created_at FROM made
        WHERE ${status}::text IS NOT NULL RETURNING *
      ), queued AS (
        INSERT INTO due_deliveries (app_id, mode, next_attempt_at, id, created_at)
        SELECT app_id, mode, next_attempt_at, id, created_at FROM sent WHERE status = 'due'
      )
      INSERT INTO delivery_attempts (app_id, delivery_id, at, duration_ms, status, excerpt)
      SELECT app_id, id, created_at, 1, 204, '' FROM sent`
  const ids = Effect.map(sql<{ id: string }>`SELECT id FROM events ORDER BY id`, (rows) => rows.map(({ id }) => Number(id)))
  const deliveries = Context.get(node, WebhookDeliveries)
  return { node, sql, events, ids, deliveries, outbox: Context.get(node, WebhookOutbox), log: Context.get(node, AuditLog) }
})

describe("a recovery", () => {
  it.effect("runs in steps, keeps the order of events, and skips events without a subscriber or with a waiting delivery", () =>
    Effect.gen(function* () {
      const { deliveries, events, log, outbox } = yield* given
      yield* events(4)
      yield* events(1, "payout.pending", null, 4)
      yield* events(1, "webhook.test", null, 5)
      yield* events(1, "payout.failed", "due", 6)
      yield* events(2, "payout.failed", "delivered", 7)
      const step = Effect.fnUntraced(function* (from: { at: number; id: string }, size: number) {
        const ids = yield* Effect.replicateEffect(newReference, size)
        return yield* deliveries.recover({
          appId: acme,
          mode: "test",
          endpoint: DEFAULT_ENDPOINT,
          from,
          until: 1_000,
          ids,
          change: auditEntry(),
          dueAtMost: 99
        })
      })
      const first = yield* step({ at: 2, id: "" }, 4)
      expect(first).toEqual({ made: 3, next: { at: 5, id: idOf(5) } })
      expect(yield* step({ at: 5, id: idOf(5) }, 9)).toEqual({ made: 2, next: null })
      const claimed = yield* outbox.claimDue(2_000, 20, 20, 1_000)
      expect(claimed.map(({ eventId }) => Number(eventId))).toEqual([2, 3, 4, 7, 8, 9])
      expect(yield* log.list(9)).toHaveLength(3)
      expect(yield* step({ at: 2_000, id: "" }, 9)).toEqual({ made: 0, next: null })
      expect(yield* log.list(9)).toHaveLength(3)
    })
  )

  const everything = Effect.fnUntraced(function* (
    { deliveries }: Effect.Success<typeof given>,
    size: number,
    more: { readonly dueAtMost?: number } = {}
  ) {
    const ids = yield* Effect.replicateEffect(newReference, size)
    const from = { at: 0, id: "" }
    return yield* deliveries.recover({
      appId: acme,
      mode: "test",
      endpoint: DEFAULT_ENDPOINT,
      from,
      until: 1_000,
      ids,
      change: auditEntry(),
      dueAtMost: 1_000,
      ...more
    })
  })

  it.effect("skips what is due already, also where attempts at it have failed", () =>
    Effect.gen(function* () {
      const world = yield* given
      yield* world.events(3, "payout.failed", "due")
      yield* world.sql`UPDATE deliveries SET attempts = 2`
      expect(yield* everything(world, 9)).toMatchObject({ made: 0, next: null })
    })
  )

  it.effect("makes a delivery of each event once, of many recoveries at once", () =>
    Effect.gen(function* () {
      const world = yield* given
      yield* world.events(20)
      const made = yield* Effect.replicateEffect(everything(world, 30), 8, { concurrency: "unbounded" })
      expect(made.reduce((sum, step) => sum + step.made, 0)).toBe(20)
      expect(yield* world.sql`SELECT count(*)::int AS count FROM deliveries`).toEqual([{ count: 20 }])
    })
  )

  it.effect("finds an event that was committed after the one before it, and that a disabled endpoint was not to get", () =>
    Effect.gen(function* () {
      const world = yield* given
      const { sql } = world
      yield* sql`UPDATE webhook_endpoints SET enabled = false`
      const [isWritten, mayEnd] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const step =
        yield* sql`SELECT write_event('acme', 'test', NULL, to_timestamp(0.5), ${idOf(1)}, 'payout.failed', '{}')`.pipe(
          Effect.andThen(Deferred.succeed(isWritten, undefined)),
          Effect.andThen(Deferred.await(mayEnd)),
          sql.withTransaction,
          Effect.forkScoped
        )
      yield* Deferred.await(isWritten)
      yield* sql`UPDATE webhook_endpoints SET enabled = true`
      expect(yield* everything(world, 9)).toEqual({ made: 0, next: null })
      yield* Deferred.succeed(mayEnd, undefined)
      yield* Fiber.join(step)
      expect(yield* everything(world, 9)).toEqual({ made: 1, next: null })
    })
  )

  it.effect("makes no more than its bound of due deliveries leaves room for, and says where to go on", () =>
    Effect.gen(function* () {
      const world = yield* given
      yield* world.events(2, "payout.failed", "due")
      yield* world.events(5, "payout.failed", null, 2)
      expect(yield* everything(world, 9, { dueAtMost: 6 })).toEqual({ made: 2, next: { at: 4, id: idOf(4) } })
      expect(yield* everything(world, 9, { dueAtMost: 4 })).toEqual({ made: 0, next: "later" })
    })
  )
})

describe("old events", () => {
  it.effect("are removed with their delivered deliveries, and never under one that is due or parked", () =>
    Effect.gen(function* () {
      const { events, ids, node, sql } = yield* given
      yield* events(2)
      yield* events(2, "payout.failed", "delivered", 2)
      yield* events(1, "payout.failed", "due", 4)
      yield* events(1, "payout.failed", "parked", 5)
      // One event, delivered once and asked for again.
      yield* events(1, "payout.failed", "delivered", 6)
      yield* sql`INSERT INTO deliveries (app_id, id, mode, event_id, status, created_at)
        SELECT app_id, 'again', mode, id, 'parked', created_at FROM events WHERE id = ${idOf(7)}`
      const round = yield* Effect.provide(makeEventRetention, node)
      expect(yield* round(31 * DAY_MS + 1)).toBe(0)
      expect(yield* round(31 * DAY_MS + 4)).toBe(3)
      expect(yield* ids).toEqual([4, 5, 6, 7])
      expect(yield* round(40 * DAY_MS)).toBe(1)
      expect(yield* ids).toEqual([5, 6, 7])
      expect(yield* sql`SELECT id FROM deliveries ORDER BY id`).toEqual(
        [idOf(5), idOf(6), idOf(7), "again"].map((id) => ({ id }))
      )
      expect(yield* sql`SELECT count(*)::int AS count FROM delivery_attempts`).toEqual([{ count: 3 }])
      // Nobody asks the ledger for older ones.
      expect(yield* sql`SELECT since FROM events_kept`).toEqual([{ since: new Date(9 * DAY_MS) }])
    })
  )

  it.effect("are removed in bounded rounds, each continuing where the last one ended", () =>
    Effect.gen(function* () {
      const { events, ids, node } = yield* given
      yield* events(1_500, "payout.failed", "parked")
      yield* events(9_500, "payout.failed", null, 1_500)
      const round = yield* Effect.provide(makeEventRetention, node)
      expect(yield* round(40 * DAY_MS)).toBe(8_500)
      expect(yield* round(40 * DAY_MS)).toBe(1_000)
      expect(yield* ids).toHaveLength(1_500)
    })
  )
})

describe("a delivery", () => {
  it.effect("is not sent twice when it is requested again during an attempt", () =>
    Effect.gen(function* () {
      const { deliveries, events, outbox } = yield* given
      yield* events(1, "payout.failed", "due")
      const [claimed] = yield* outbox.claimDue(10, 9, 8, 1_000)
      expect(
        yield* deliveries.redeliver({
          appId: acme,
          mode: "test",
          endpoint: DEFAULT_ENDPOINT,
          id: idOf(1),
          at: 20,
          change: auditEntry()
        })
      ).toBe(true)
      expect(yield* outbox.claimDue(30, 9, 8, 1_000)).toEqual([])
      if (claimed === undefined) return yield* Effect.die("one was due")
      yield* outbox.recordAttempt({ delivery: claimed, at: 10, durationMs: 1, status: 204, excerpt: "" }, { _tag: "Delivered" })
      expect(Option.getOrThrow(yield* deliveries.find(acme, "test", idOf(1)))).toMatchObject({ status: "delivered" })
      expect(
        yield* deliveries.redeliver({
          appId: acme,
          mode: "live",
          endpoint: DEFAULT_ENDPOINT,
          id: idOf(1),
          at: 20,
          change: auditEntry()
        })
      ).toBe(false)
      expect(yield* deliveries.owner(idOf(2))).toEqual(Option.none())
    })
  )
})

describe("a list of events", () => {
  it.effect("goes on behind what its page looked at, also where old events are removed meanwhile", () =>
    Effect.gen(function* () {
      const { deliveries, sql } = yield* given
      const [reference, sought] = [idOf(1), idOf(5_500)]
      const at = sql`to_timestamp(1)`
      yield* sql`INSERT INTO journal (app_id, reference, revision, mode, at, actor, fact, note, status)
        VALUES ('acme', ${reference}, 1, 'test', ${at}, 'request', 'Opened', '', 'pending')`
      yield* sql`INSERT INTO events (app_id, id, mode, type, reference, body, created_at)
        SELECT 'acme', i.id, 'test', CASE WHEN i.id = ${sought} THEN 'payout.failed' ELSE 'payout.pending' END, ${reference}, i.id, ${at}
        FROM (SELECT lpad(n::text, 26, '0') AS id FROM generate_series(1, 6000) AS n) i`
      const filter = { from: null, to: null, type: "payout.failed", reference } as const
      const page = (after: DeliveryCursor | null) =>
        deliveries.events({ appId: acme, mode: "test" }, filter, { after, limit: 10 })

      // The page has begun to read the events, and waits for the times of the record's history.
      const [isHeld, isFree] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const holder = yield* sql`LOCK TABLE journal IN ACCESS EXCLUSIVE MODE`.pipe(
        Effect.andThen(Deferred.succeed(isHeld, undefined)),
        Effect.andThen(Deferred.await(isFree)),
        sql.withTransaction,
        Effect.forkScoped
      )
      yield* Deferred.await(isHeld)
      const reading = yield* Effect.forkScoped(page(null))
      yield* waitsForLock(sql)
      // The next that gets the events removes old ones.
      const removing = yield* sql`LOCK TABLE events IN ACCESS EXCLUSIVE MODE`.pipe(
        Effect.andThen(sql`DELETE FROM events WHERE id <= ${idOf(1_000)}`),
        sql.withTransaction,
        Effect.forkScoped
      )
      yield* waitsForLock(sql, 2)
      yield* Deferred.succeed(isFree, undefined)
      yield* Fiber.join(holder)
      yield* Fiber.join(removing)

      const { items, next } = yield* Fiber.join(reading)
      expect(items).toEqual([])
      expect((yield* page(next)).items.map(({ body }) => body)).toEqual([sought])
    })
  )
})

describe("a list of deliveries", () => {
  it.effect("ends a page early when endpoints' answers would make it large, and continues until all were shown", () =>
    Effect.gen(function* () {
      const { deliveries, events, sql } = yield* given
      yield* events(12, "payout.failed", "delivered")
      yield* sql`INSERT INTO delivery_attempts (app_id, delivery_id, at, duration_ms, status, excerpt)
        SELECT d.app_id, d.id, d.created_at, 1, 500, repeat(chr(1), 400) FROM deliveries d, generate_series(1, 12)`
      const sizes: Array<number> = []
      const shown: Array<number> = []
      let after: { at: number; id: string } | null = null
      for (let goesOn = true; goesOn; ) {
        const { items, next }: Page = yield* deliveries.list({
          appId: acme,
          mode: "test",
          endpoint: null,
          status: null,
          limit: 100,
          after
        })
        sizes.push(
          items
            .flatMap(({ attempts }) => attempts)
            .reduce((sum, { excerpt }) => sum + Buffer.byteLength(JSON.stringify(excerpt)), 0)
        )
        shown.push(...items.map(({ id }) => Number(id)))
        after = next
        goesOn = after !== null
      }
      expect(shown).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1])
      expect(Math.max(...sizes)).toBeLessThanOrEqual(64 * 1024)
      expect(
        yield* deliveries.list({ appId: acme, mode: "test", endpoint: null, status: null, limit: 2, after: null })
      ).toMatchObject({
        items: { length: 2 },
        next: { id: idOf(11) }
      })
      expect(Option.getOrThrow(yield* deliveries.find(acme, "test", idOf(1))).attempts).toHaveLength(13)
    })
  )

  it.effect("looks at a bounded number for those that were delivered, and goes on from there", () =>
    Effect.gen(function* () {
      const { deliveries, events } = yield* given
      yield* events(1, "payout.failed", "delivered")
      yield* events(5_001, "payout.failed", "due", 1)
      const wanted = { appId: acme, mode: "test", endpoint: null, status: "delivered", limit: 10 } as const
      const first = yield* deliveries.list({ ...wanted, after: null })
      expect([first.items, first.next?.id]).toEqual([[], idOf(3)])
      const second = yield* deliveries.list({ ...wanted, after: first.next })
      expect([second.items.map(({ id }) => id), second.next]).toEqual([[idOf(1)], null])
    })
  )

  it.effect("shows at least one delivery, with only the latest answers if all would make it large", () =>
    Effect.gen(function* () {
      const { deliveries, events, sql } = yield* given
      yield* events(2, "payout.failed", "delivered")
      yield* sql`INSERT INTO delivery_attempts (app_id, delivery_id, at, duration_ms, status, excerpt)
        SELECT d.app_id, d.id, d.created_at, 1, 500, repeat(chr(1), 4096) FROM deliveries d, generate_series(1, 20)`
      const { items, next } = yield* deliveries.list({
        appId: acme,
        mode: "test",
        endpoint: null,
        status: null,
        limit: 100,
        after: null
      })
      expect([items.map(({ id }) => Number(id)), next?.id]).toEqual([[2], idOf(2)])
      const found = Option.getOrThrow(yield* deliveries.find(acme, "test", idOf(2)))
      for (const { attempts } of [...items, found])
        expect(attempts.map(({ excerpt }) => excerpt.length)).toEqual([...Array(18).fill(0), 4096, 4096])
    })
  )
})

describe("the list of delivered webhooks", () => {
  it.live("has turns of its own, as a list of events has: it examines many rows to find few", () =>
    Effect.gen(function* () {
      const { deliveries, events, sql } = yield* given
      yield* events(1, "payout.failed", "delivered")
      const list = (status: "delivered" | "parked" | null) =>
        deliveries.list({ appId: acme, mode: "test", endpoint: null, status, limit: 1, after: null })
      const [began, gate] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const read = Effect.andThen(Deferred.succeed(began, undefined), Deferred.await(gate))
      const heavy = makeHeavyReads(sql)("acme:test")
      const others = yield* Effect.replicateEffect(Effect.forkChild(heavy(read), { startImmediately: true }), 8)
      yield* Deferred.await(began)
      expect(yield* Effect.flip(list("delivered"))).toMatchObject({ _tag: "rate_limited", scope: "server" })
      expect((yield* list(null)).items).toHaveLength(1)
      expect((yield* list("parked")).items).toHaveLength(0)
      yield* Deferred.succeed(gate, undefined)
      yield* Effect.forEach(others, Fiber.join)
      expect((yield* list("delivered")).items).toHaveLength(1)
    })
  )
})
