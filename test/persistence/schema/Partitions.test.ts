import { describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { expect } from "vitest"
import { AppId, Reference } from "../../../src/domain/Ids.ts"
import { DEFAULT_ENDPOINT } from "../../../src/domain/WebhookEndpoint.ts"
import { AuditLogPg } from "../../../src/persistence/audit/AuditLogPg.ts"
import { Database } from "../../../src/persistence/Database.ts"
import { LedgerVerificationPg } from "../../../src/persistence/ledger/LedgerVerificationPg.ts"
import { PartitionsPg } from "../../../src/persistence/schema/PartitionsPg.ts"
import { GatewayStatusPg } from "../../../src/persistence/status/GatewayStatusPg.ts"
import { PeriodCountsPg } from "../../../src/persistence/status/PeriodCountsPg.ts"
import { VaultPg } from "../../../src/persistence/vault/VaultPg.ts"
import { WebhookDeliveriesPg } from "../../../src/persistence/webhooks/WebhookDeliveriesPg.ts"
import { makePartitionMaintenance } from "../../../src/services/DataRetention.ts"
import { FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import { GatewayStatus } from "../../../src/services/ports/GatewayStatus.ts"
import { LedgerVerification } from "../../../src/services/ports/LedgerVerification.ts"
import { Partitions } from "../../../src/services/ports/Partitions.ts"
import { WebhookDeliveries } from "../../../src/services/ports/WebhookDeliveries.ts"
import { fakePolicy } from "../../fakes/FakePolicy.ts"
import { appId, given, openStep } from "../../support/LedgerSteps.ts"
import { givenClaim } from "../../support/PaymentRequests.ts"
import { auditEntry, masterKey } from "../../support/TestDatabase.ts"

const acme = AppId.make("acme")
const idOf = (name: string) => name.padStart(26, "0")
const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1)
const DAY_MS = 24 * 3_600_000
const record = {
  kind: "payout",
  status: "failed",
  appId: "acme",
  reference: "R",
  mode: "live",
  currency: "UGX",
  amount: "1",
  principal: "1",
  heldFee: "0"
}
const tables = ["deliveries", "delivery_attempts", "events", "journal"]

const stage = Effect.gen(function* () {
  const { node, url } = yield* given(1_000_000n)
  const ports = yield* Layer.build(
    Layer.mergeAll(PartitionsPg, LedgerVerificationPg, GatewayStatusPg, WebhookDeliveriesPg).pipe(
      Layer.provideMerge(Layer.merge(AuditLogPg, PeriodCountsPg)),
      Layer.provideMerge(VaultPg.layer(masterKey)),
      Layer.provideMerge(fakePolicy()),
      Layer.provideMerge(Database.layer({ url }))
    )
  )
  const sql = Context.get(ports, SqlClient.SqlClient)
  /** A payout that is opened at that moment, with its event. */
  const opened = (key: string, at: number) =>
    Effect.gen(function* () {
      const claim = yield* givenClaim(appId, key)
      const step = openStep(claim, 100n)
      const event = {
        id: claim.reference,
        appId,
        mode: "live",
        type: "payout.pending",
        reference: claim.reference,
        body: "{}",
        at
      } as const
      const result = yield* (yield* FloatLedger).open({
        ...step,
        transaction: { ...step.transaction, createdAt: at },
        line: { ...step.line, at },
        nextPollAt: at,
        event
      })
      return { reference: claim.reference, verdict: result._tag }
    }).pipe(Effect.provideContext(node))
  /** Where rows of a reference lie. */
  const places = (reference: string) =>
    Effect.map(
      sql<{ place: string }>`
        SELECT tableoid::regclass::text AS place FROM journal WHERE reference = ${reference}
        UNION SELECT tableoid::regclass::text FROM events WHERE reference = ${reference} ORDER BY 1`,
      (rows) => rows.map(({ place }) => place)
    )
  /** `count` events of a day, each with a delivery and its attempt. */
  const told = (prefix: string, day: string, count: number, status: "due" | "delivered" | "parked") => sql`
    WITH made AS (
      INSERT INTO events (app_id, id, mode, type, body, created_at)
      SELECT 'acme', lpad(${prefix} || n, 26, '0'), 'live', 'payout.failed', '{}', ${day}::timestamptz FROM generate_series(1, ${count}::int) n RETURNING *
    ), sent AS (
      INSERT INTO deliveries (app_id, id, mode, event_id, status, next_attempt_at, created_at)
      SELECT app_id, id, mode, id, ${status}, CASE ${status}::text WHEN 'due' THEN created_at END, created_at FROM made RETURNING *
    ), queued AS (
      INSERT INTO due_deliveries (app_id, mode, next_attempt_at, id, created_at)
      SELECT app_id, mode, next_attempt_at, id, created_at FROM sent WHERE status = 'due'
    )
    INSERT INTO delivery_attempts (app_id, delivery_id, at, duration_ms, status, excerpt)
    SELECT app_id, id, created_at, 1, 204, '' FROM sent`
  const counted = Effect.map(
    sql<{ events: number; deliveries: number; attempts: number }>`
      SELECT (SELECT count(*)::int FROM events) AS events, (SELECT count(*)::int FROM deliveries) AS deliveries,
        (SELECT count(*)::int FROM delivery_attempts) AS attempts`,
    ([row]) => row
  )
  /** Runs `during` while the transaction of `work` is done and not yet committed. */
  const whileOpen = Effect.fnUntraced(function* <A, E>(work: Effect.Effect<unknown, E>, during: Effect.Effect<A, E>) {
    const [done, over] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const held = yield* Effect.forkScoped(
      sql.withTransaction(work.pipe(Effect.andThen(Deferred.succeed(done, undefined)), Effect.andThen(Deferred.await(over))))
    )
    yield* Deferred.await(done)
    const result = yield* during
    yield* Deferred.succeed(over, undefined)
    yield* Fiber.join(held)
    return result
  })
  return {
    sql,
    opened,
    places,
    told,
    counted,
    whileOpen,
    ports,
    partitions: Context.get(ports, Partitions),
    audit: Context.get(ports, LedgerVerification),
    standing: Context.get(ports, GatewayStatus),
    deliveries: Context.get(ports, WebhookDeliveries)
  }
})

describe("partitions", () => {
  it.live("are created a month ahead, and a step of any time is stored with or without its month", () =>
    Effect.gen(function* () {
      const { audit, opened, partitions, places, standing, sql } = yield* stage
      expect(yield* partitions.prepare(Date.now())).toEqual([])
      const early = yield* opened("early", Date.UTC(2091, 4, 3))
      const never = yield* opened("never", Date.UTC(2099, 11, 31))
      const ancient = yield* opened("ancient", 0)
      const before = ["events_default", "journal_default"]
      expect(yield* places(early.reference)).toEqual(before)
      expect((yield* standing.read).unparted).toEqual(["journal", "events"])

      const months = ["209104", "209105"].flatMap((month) => tables.map((table) => `${table}_${month}`))
      expect(yield* partitions.prepare(Date.UTC(2091, 3, 30, 23, 59, 59, 999))).toEqual(
        months.map((partition) => ({ partition, outcome: "made" }))
      )
      expect(yield* partitions.prepare(Date.UTC(2091, 3, 1))).toEqual([])
      const inTime = yield* opened("in time", Date.UTC(2091, 4, 31, 23, 59, 59, 999))
      const after = ["events_209105", "journal_209105"]
      expect([yield* places(early.reference), yield* places(inTime.reference)]).toEqual([after, after])
      expect(yield* places(never.reference)).toEqual(before)
      expect(yield* places(ancient.reference)).toEqual(["events_first", "journal_first"])
      expect([early, never, ancient, inTime].map(({ verdict }) => verdict)).toEqual(Array(4).fill("Opened"))
      expect(yield* audit.verify).toMatchObject({ ok: true })
      // Each has what its table has.
      expect(
        yield* sql`SELECT relname AS name, (SELECT count(*)::int FROM pg_index i WHERE i.indrelid = c.oid AND i.indisvalid) AS indexes,
          (SELECT count(*)::int FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype IN ('c', 'p')) AS constraints
          FROM pg_class c WHERE relname LIKE '%_209105' AND relkind = 'r' ORDER BY 1`
      ).toEqual([
        { name: "deliveries_209105", indexes: 4, constraints: 3 },
        { name: "delivery_attempts_209105", indexes: 1, constraints: 1 },
        { name: "events_209105", indexes: 3, constraints: 1 },
        { name: "journal_209105", indexes: 3, constraints: 2 }
      ])
    }).pipe(Effect.scoped)
  )

  it.live("are created, emptied and dropped without making money steps wait, and yield to whoever holds the table", () =>
    Effect.gen(function* () {
      const { counted, opened, partitions, sql, told, whileOpen } = yield* stage
      const now = Date.UTC(2091, 4, 3)
      const step = (key: string) =>
        Effect.map(opened(key, now), ({ verdict }) => verdict).pipe(Effect.timeout("5 minutes"), Effect.orDie)
      yield* partitions.prepare(now)
      expect(yield* whileOpen(partitions.prepare(Date.UTC(2091, 6, 3)), step("while made"))).toBe("Opened")
      yield* told("old", "2020-01-03", 3, "delivered")
      const past = Date.UTC(2091, 2, 1)
      const retire = Effect.tap(partitions.retire(past), (done) =>
        Effect.sync(() => expect(done).toEqual([{ partition: "events_first", outcome: "emptied" }]))
      )
      // A verify looks at one moment, in which a month is not emptied.
      const verifying = sql`LOCK TABLE events IN ACCESS SHARE MODE`
      expect(yield* whileOpen(verifying, partitions.retire(past))).toEqual([{ partition: "events_first", outcome: "busy" }])
      expect(yield* whileOpen(retire, step("while emptied"))).toBe("Opened")
      expect(yield* counted).toEqual({ events: 2, deliveries: 0, attempts: 0 })
      const writing = sql`INSERT INTO events (app_id, id, mode, type, body, created_at) VALUES ('acme', 'w', 'live', 't', '{}', ${new Date(now)})`
      expect(
        yield* whileOpen(
          writing,
          Effect.map(partitions.retire(past), ([first]) => first?.outcome)
        )
      ).toBe("busy")
      const [dropped] = yield* partitions.retire(past)
      expect(dropped).toEqual({ partition: "events_first", outcome: "dropped" })
      // What the dropped one would have taken still lands.
      yield* told("late", "2020-01-03", 1, "delivered")
      expect(yield* counted).toEqual({ events: 4, deliveries: 1, attempts: 1 })
    }).pipe(Effect.scoped)
  )

  it.live("that are past lose what was delivered and nothing that is due, parked or related to it", () =>
    Effect.gen(function* () {
      const { audit, counted, deliveries, partitions, ports, sql, told } = yield* stage
      // That of the float that was given.
      yield* sql`DELETE FROM events WHERE app_id = 'acme'`
      yield* partitions.prepare(Date.UTC(2091, 0, 1))
      yield* told("AWAY", "2091-01-10", 50, "delivered")
      yield* told("PARKED", "2091-01-10", 2, "parked")
      yield* told("due", "2091-01-31T23:59:59.999Z", 2, "due")
      yield* told("young", "2091-02-01", 2, "delivered")
      // Delivered once, asked for again a month later, and still on its way.
      yield* told("again", "2091-01-20", 1, "delivered")
      yield* sql`WITH queued AS (
          INSERT INTO due_deliveries (app_id, mode, next_attempt_at, id, created_at) VALUES ('acme', 'live', '2091-02-15', 'recovered', '2091-02-15')
        )
        INSERT INTO deliveries (app_id, id, mode, event_id, status, next_attempt_at, created_at)
        VALUES ('acme', 'recovered', 'live', ${idOf("again1")}, 'due', '2091-02-15', '2091-02-15')`
      yield* sql`INSERT INTO transactions (app_id, reference, mode, kind, status, needs_review, provider, revision, record, created_at)
        VALUES ('acme', 'R', 'live', 'payout', 'failed', false, 'p', 1, ${JSON.stringify(record)}, '2091-01-10')`
      const told1 = (yield* audit.verify).differences.filter(({ rule }) => rule === "outcomes_were_told")
      expect(told1).toEqual([{ rule: "outcomes_were_told", subject: "acme/R", found: "no event payout.failed" }])

      expect(yield* partitions.retire(Date.UTC(2091, 0, 31, 23, 59, 59, 999))).toEqual([
        { partition: "events_first", outcome: "dropped" }
      ])
      expect(yield* partitions.retire(Date.UTC(2091, 0, 31, 23, 59, 59, 999))).toEqual([])
      const round = yield* Effect.provideContext(makePartitionMaintenance, ports)
      const february = Date.UTC(2091, 1, 1)
      for (const _ of [1, 2]) yield* round(february + 31 * DAY_MS, february + 31 * DAY_MS)
      expect(yield* counted).toEqual({ events: 7, deliveries: 8, attempts: 7 })
      expect(yield* sql`SELECT id FROM events ORDER BY id COLLATE "C"`).toEqual(
        ["PARKED1", "PARKED2", "again1", "young1", "young2", "due1", "due2"].map((name) => ({ id: idOf(name) })).sort(byId)
      )
      const redelivered = (name: string) =>
        deliveries.redeliver({
          appId: acme,
          mode: "live",
          endpoint: DEFAULT_ENDPOINT,
          id: Reference.make(idOf(name)),
          at: february,
          change: auditEntry()
        })
      expect(yield* redelivered("PARKED1")).toBe(true)
      expect(yield* redelivered("AWAY1")).toBe(false)
      expect((yield* audit.verify).differences.filter(({ rule }) => rule === "outcomes_were_told")).toEqual([])
      // What stayed goes when it has arrived, and the empty month with it.
      yield* sql`UPDATE deliveries SET status = 'delivered', next_attempt_at = NULL WHERE created_at < '2091-02-20'`
      yield* sql`DELETE FROM due_deliveries WHERE created_at < '2091-02-20'`
      expect(yield* partitions.retire(february)).toEqual([{ partition: "events_209101", outcome: "emptied" }])
      expect(yield* partitions.retire(february)).toEqual([{ partition: "events_209101", outcome: "dropped" }])
    }).pipe(Effect.scoped)
  )
})
