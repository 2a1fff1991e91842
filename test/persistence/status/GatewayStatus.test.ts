import { expect, it } from "@effect/vitest"
import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { AppId, Reference } from "../../../src/domain/Ids.ts"
import type { WebhookRetrySchedule } from "../../../src/domain/WebhookRetrySchedule.ts"
import { AuditLogPg } from "../../../src/persistence/audit/AuditLogPg.ts"
import { Database } from "../../../src/persistence/Database.ts"
import { AcknowledgementsPg } from "../../../src/persistence/operators/AcknowledgementsPg.ts"
import { IS_STANDBY } from "../../../src/persistence/status/DatabaseStatePg.ts"
import { GatewayStatusPg } from "../../../src/persistence/status/GatewayStatusPg.ts"
import { PeriodCountsPg } from "../../../src/persistence/status/PeriodCountsPg.ts"
import { VaultPg } from "../../../src/persistence/vault/VaultPg.ts"
import { Acknowledgements } from "../../../src/services/ports/Acknowledgements.ts"
import { type ComparisonResult, GatewayStatus } from "../../../src/services/ports/GatewayStatus.ts"
import { fakePolicy } from "../../fakes/FakePolicy.ts"
import { auditEntry, givenDatabase, masterKey } from "../../support/TestDatabase.ts"

const NOW = Date.now()

const given = Effect.gen(function* () {
  const url = yield* givenDatabase
  const context = yield* Layer.build(
    Layer.merge(GatewayStatusPg, AcknowledgementsPg).pipe(
      Layer.provideMerge(Layer.merge(AuditLogPg, PeriodCountsPg)),
      Layer.provideMerge(VaultPg.layer(masterKey)),
      Layer.provideMerge(fakePolicy()),
      Layer.provideMerge(Database.layer({ url }))
    )
  )
  /** The same with another schedule of webhooks. */
  const standingAt = (webhookScheduleMs: WebhookRetrySchedule) =>
    Layer.build(Layer.fresh(GatewayStatusPg).pipe(Layer.provide(fakePolicy({ webhookScheduleMs })))).pipe(
      Effect.provideContext(context),
      Effect.map((other) => Context.get(other, GatewayStatus))
    )
  const { acknowledge, standing: resting } = Context.get(context, Acknowledgements)
  return {
    sql: Context.get(context, SqlClient.SqlClient),
    standing: Context.get(context, GatewayStatus),
    standingAt,
    acknowledge,
    resting
  }
})

interface Payouts {
  readonly count: number
  readonly status: string
  /** How long ago they began. */
  readonly age: string
  /** What was heard of them last. */
  readonly fact: string
}

const givenPayouts = (sql: SqlClient.SqlClient, { age, count, fact, status }: Payouts) => sql`
  WITH made AS (
    INSERT INTO transactions (app_id, reference, mode, kind, status, needs_review, provider, revision, record, created_at)
    SELECT 'acme', upper(left(md5(${status + age + fact} || n), 26)), 'live', 'payout', ${status}, false, 'alpha', 1, '{}',
      ${new Date(NOW)}::timestamptz - ${age}::interval
    FROM generate_series(1, ${count}::int) n RETURNING app_id, reference, mode, status, created_at
  ),
  work AS (
    INSERT INTO open_work (app_id, reference, mode, created_at, is_open, next_poll_at, needs_review)
    SELECT app_id, reference, mode, created_at, status = 'pending', now(), false FROM made
  )
  INSERT INTO journal (app_id, reference, revision, mode, at, actor, fact, note, status)
  SELECT app_id, reference, revision, 'live', ${new Date(NOW)}::timestamptz, 'request', fact, '', 'pending'
  FROM made, unnest(ARRAY['Opened', ${fact}]) WITH ORDINALITY AS l(fact, revision)`

it.live("counts open transactions by age and unknown outcomes, and reads no closed ones", () =>
  Effect.gen(function* () {
    const { sql, standing } = yield* given
    yield* givenPayouts(sql, { count: 20_000, status: "successful", age: "2 hours", fact: "Succeeded" })
    yield* givenPayouts(sql, { count: 2, status: "pending", age: "30 seconds", fact: "Accepted" })
    yield* givenPayouts(sql, { count: 3, status: "pending", age: "5 minutes", fact: "Unknown" })
    yield* givenPayouts(sql, { count: 1, status: "pending", age: "2 days", fact: "NotFound" })
    yield* sql`ANALYZE`
    const [picture, scans] = yield* sql.withTransaction(
      Effect.all([
        standing.read,
        sql<{ name: string; rows: bigint }>`
          SELECT relname AS name, seq_tup_read + coalesce(idx_tup_fetch, 0) AS rows FROM pg_stat_xact_user_tables
          WHERE relname IN ('transactions', 'open_work', 'journal_first', 'deliveries', 'provider_inbox') AND seq_tup_read + idx_tup_fetch > 100`
      ])
    )
    expect(scans).toEqual([])
    const group = { kind: "payout", mode: "live", provider: "alpha", acknowledged: 0 }
    const minutes = (ago: number) => NOW - ago * 60_000
    expect(picture.open).toEqual([
      { ...group, age: "older", count: 1, unknown: 1, oldestAt: minutes(2880), oldestUnknownAt: minutes(2880) },
      { ...group, age: "10m", count: 3, unknown: 3, oldestAt: minutes(5), oldestUnknownAt: minutes(5) },
      { ...group, age: "1m", count: 2, unknown: 0, oldestAt: minutes(0.5), oldestUnknownAt: null }
    ])
    expect((yield* standing.unanswered(2)).map(({ createdAt }) => createdAt)).toEqual([minutes(2880), minutes(5)])
  }).pipe(Effect.scoped)
)

it.live("says since when a poll of an open transaction is due that no node is making", () =>
  Effect.gen(function* () {
    const { sql, standing } = yield* given
    const due = (status: string, ago: string, lease: string | null) =>
      Effect.andThen(
        givenPayouts(sql, { count: 1, status, age: ago, fact: "Accepted" }),
        sql`UPDATE open_work SET next_poll_at = ${new Date(NOW)}::timestamptz - ${ago}::interval,
          lease_until = ${new Date(NOW)}::timestamptz + ${lease}::interval WHERE next_poll_at > now() - interval '1 minute'`
      )
    yield* due("successful", "3 hours", null)
    yield* due("pending", "20 minutes", "1 minute")
    yield* due("pending", "-5 minutes", null)
    expect((yield* standing.read).pollsDueSince).toBeNull()
    yield* due("pending", "10 minutes", "-1 minute")
    yield* due("pending", "7 minutes", null)
    expect((yield* standing.read).pollsDueSince).toBe(NOW - 600_000)
  }).pipe(Effect.scoped)
)

it.live("rests what an operator has acknowledged, until its time has passed or it goes into review", () =>
  Effect.gen(function* () {
    const { acknowledge, resting, sql, standing } = yield* given
    yield* givenPayouts(sql, { count: 2, status: "pending", age: "2 hours", fact: "Unknown" })
    const [first] = yield* sql<{ reference: string }>`SELECT reference FROM open_work ORDER BY reference LIMIT 1`
    const reference = Reference.make(first?.reference ?? "")
    const seen = Effect.map(standing.read, ({ open: [row], reviews }) => ({ ...row, inReview: reviews.acknowledged }))
    const until = NOW + 3_600_000
    expect(yield* resting(reference, NOW)).toEqual(Option.none())
    expect(yield* acknowledge(reference, until, auditEntry())).toEqual(Option.some({ inReview: false, until }))
    expect(yield* resting(reference, until - 1)).toEqual(Option.some({ inReview: false, until }))
    expect(yield* resting(reference, until)).toEqual(Option.none())
    expect(yield* seen).toMatchObject({ count: 2, unknown: 2, acknowledged: 1, oldestUnknownAt: NOW - 7_200_000, inReview: 0 })
    yield* sql`UPDATE open_work SET needs_review = true`
    expect(yield* resting(reference, NOW)).toEqual(Option.none())
    expect(yield* seen).toMatchObject({ acknowledged: 0, inReview: 0 })
    expect(yield* acknowledge(reference, until, auditEntry())).toEqual(Option.some({ inReview: true, until }))
    expect(yield* seen).toMatchObject({ acknowledged: 1, inReview: 1 })
    expect(yield* acknowledge(reference, NOW - 1, auditEntry())).toEqual(Option.some({ inReview: true, until: NOW - 1 }))
    expect(yield* seen).toMatchObject({ acknowledged: 0, inReview: 0 })
    expect(yield* acknowledge(Reference.make("0".repeat(26)), until, auditEntry())).toEqual(Option.none())
    expect(yield* sql`SELECT action FROM audit_log`).toHaveLength(3)
  }).pipe(Effect.scoped)
)

it.live("names the enabled endpoints that have accepted nothing for a minute, or until a late second attempt", () =>
  Effect.gen(function* () {
    const { sql, standing, standingAt } = yield* given
    yield* sql`INSERT INTO webhook_endpoints (app_id, mode, url, events, enabled, secret_sealed, created_at, updated_at, failing_since)
      SELECT app, 'live', 'https://x.example', '{}', enabled, '', now(), now(), now() - ago FROM (VALUES
        ('works', true, NULL), ('new', true, interval '30 seconds'), ('dead', true, interval '61 seconds'), ('off', false, interval '1 day')
      ) AS e(app, enabled, ago)`
    expect((yield* standing.read).endpointsFailing).toBe(1)
    expect((yield* standing.tenants(5)).failing).toMatchObject([{ appId: "dead", mode: "live" }])
    const late = yield* standingAt([0, 120_000])
    expect((yield* late.read).endpointsFailing).toBe(0)
    yield* sql`UPDATE webhook_endpoints SET failing_since = failing_since - interval '220 seconds'`
    expect((yield* late.tenants(5)).failing.map(({ appId }) => appId)).toEqual(["dead"])
  }).pipe(Effect.scoped)
)

it.live("counts what each account is needed for to the end, and says so where a bound cut it: 0 means that nobody needs it", () =>
  Effect.gen(function* () {
    const { sql, standing } = yield* given
    // More than one page, and what the previous account sent is in the last of them, closed.
    const sent = (count: number, name: string, isOpen: boolean, key: string) => sql`
      WITH made AS (
        INSERT INTO transactions (app_id, reference, mode, kind, status, needs_review, provider, revision, record, created_at)
        SELECT 'acme', ${key} || upper(left(md5(${name} || n), 25)), 'live', 'payout', 'pending', false, 'alpha', 1,
          json_build_object('currency', 'UGX', 'account', ${name}::text), now()
        FROM generate_series(1, ${count}::int) n RETURNING app_id, reference, mode, created_at
      )
      INSERT INTO open_work (app_id, reference, mode, created_at, is_open, next_poll_at, needs_review)
      SELECT app_id, reference, mode, created_at, ${isOpen}::boolean, now(), false FROM made`
    yield* sent(20_003, "current", true, "A")
    yield* sent(4, "previous", false, "Z")
    const [current, previous] = ["current", "previous"].map((account) => ({
      provider: "alpha",
      mode: "live",
      currency: "UGX",
      account
    }))
    expect(yield* standing.byAccount(Number.POSITIVE_INFINITY)).toEqual({
      work: [
        { ...current, open: 20_003, followed: 0 },
        { ...previous, open: 0, followed: 4 }
      ],
      isWhole: true
    })
    expect(yield* standing.byAccount(20_004)).toEqual({
      work: [
        { ...current, open: 20_003, followed: 0 },
        { ...previous, open: 0, followed: 1 }
      ],
      isWhole: false
    })
    expect(yield* standing.byAccount(7)).toEqual({ work: [{ ...current, open: 7, followed: 0 }], isWhole: false })
  }).pipe(Effect.scoped)
)

it.live("says how large the database is, what connections are left, and for how long its tables have months", () =>
  Effect.gen(function* () {
    const { sql, standing } = yield* given
    const { database } = yield* standing.read
    expect(database).toMatchObject({ standbys: 0, lagSeconds: null, archive: null })
    // The server of the tests keeps nothing, and says so.
    const weakness = "synchronous_commit = off, fsync = off, full_page_writes = off"
    const settings = { synchronousCommit: "off", fsync: "off", fullPageWrites: "off", weakness, isThrownAway: true }
    expect(database.commits).toEqual([{ server: expect.stringMatching(/^127\.0\.0\.1:\d+$/), ...settings }])
    expect(database.sizeBytes).toBeGreaterThan(1_000_000)
    expect([database.connections > 0, database.connections <= database.connectionsLimit]).toEqual([true, true])
    expect(database.partitions.map(({ name }) => name)).toEqual(["deliveries", "delivery_attempts", "events", "journal"])
    expect(database.partitions.filter(({ aheadSeconds }) => aheadSeconds < 14 * 86_400)).toEqual([])
    yield* sql`DROP TABLE delivery_attempts_first`
    const robbed = (yield* standing.read).database.partitions.find(({ name }) => name === "delivery_attempts")
    expect(robbed).toEqual({ name: "delivery_attempts", aheadSeconds: 0 })
  }).pipe(Effect.scoped)
)

it.live("keeps the newest result of each check", () =>
  Effect.gen(function* () {
    const { standing } = yield* given
    const verify: ComparisonResult = { name: "ledger verify", subject: "", at: NOW, differences: 2 }
    const reconcile: ComparisonResult = { name: "reconcile", subject: "alpha", at: NOW, differences: 0 }
    for (const check of [
      verify,
      reconcile,
      { ...verify, at: NOW - 1, differences: 0 },
      { ...reconcile, at: NOW + 1, differences: 7 }
    ])
      yield* standing.recordCheck(check)
    expect((yield* standing.read).checks).toEqual([verify, { ...reconcile, at: NOW + 1, differences: 7 }])
  }).pipe(Effect.scoped)
)

it.live("says what chosen tenants hold, and which accounts' callbacks were refused lately, at any node", () =>
  Effect.gen(function* () {
    const { sql, standing } = yield* given
    yield* sql`INSERT INTO float_positions (app_id, mode, currency, available_minor, collected_minor)
      SELECT name, 'live', 'UGX', 70, 70 FROM unnest(ARRAY['acme', 'other', 'third']) AS name`
    const [acme, third] = [AppId.make("acme"), AppId.make("third")]
    const held = { mode: "live", currency: "UGX", available: 70n, reserved: 0n, receivable: 0n }
    expect(yield* standing.tenantFloats([acme, third, AppId.make("nobody")])).toEqual([
      { appId: acme, ...held },
      { appId: third, ...held }
    ])
    const refused = (process: number, age: string, count: number, outcome = "refused") => sql`
      INSERT INTO period_counts (period_start, what, mode, provider, corridor, outcome, failure, process, count)
      SELECT ${new Date(NOW)}::timestamptz - ${age}::interval, 'callback', 'live', 'mtn', '', ${outcome}, 'none',
        ('00000000-0000-4000-8000-00000000000' || ${process}::int)::uuid, ${count}::int`
    yield* refused(1, "1 minute", 3)
    yield* refused(2, "1 minute", 4)
    yield* refused(1, "2 hours", 100)
    yield* refused(1, "1 minute", 100, "new")
    expect((yield* standing.read).callbacksRefused).toMatchObject([{ provider: "mtn", mode: "live", count: 7 }])
    yield* sql`UPDATE period_counts SET what = 'payout', failure = 'insufficient_wallet_float' WHERE count < 10`
    expect((yield* standing.read).walletRefusals).toEqual([{ provider: "mtn", mode: "live", count: 7 }])
  }).pipe(Effect.scoped)
)

it.live("says what tenants can spend and still owe: what came in since covers a debt", () =>
  Effect.gen(function* () {
    const { sql, standing } = yield* given
    yield* sql`INSERT INTO float_positions (app_id, mode, currency, available_minor, receivable_minor, collected_minor, paid_out_minor)
      VALUES ('covered', 'live', 'UGX', 19700, 19000, 20000, 19300), ('owing', 'live', 'UGX', 100, 300, 0, 200)`
    const covered = { appId: AppId.make("covered"), mode: "live", currency: "UGX", available: 700n, reserved: 0n, receivable: 0n }
    expect(yield* standing.tenantFloats([covered.appId])).toEqual([covered])
    const { floats } = yield* standing.read
    expect(floats).toEqual([{ mode: "live", currency: "UGX", available: 700n, reserved: 0n, receivable: 200n }])
    const { owing } = yield* standing.tenants(9)
    expect(owing).toEqual([{ appId: "owing", mode: "live", currency: "UGX", receivable: 200n }])
  }).pipe(Effect.scoped)
)

it.live("counts standbys that stream, and no base backup, whose role may be told no state", () =>
  Effect.gen(function* () {
    const { sql } = yield* given
    const counted = yield* sql`SELECT client FROM (VALUES
        ('backup', 'backup', 'pg_basebackup'), ('its log', 'streaming', 'pg_basebackup'), ('untold backup', NULL, 'pg_basebackup'),
        ('standby', 'streaming', 'walreceiver'), ('new standby', 'catchup', 'walreceiver'), ('untold standby', NULL, 'standby-2')
      ) AS pg_stat_replication(client, state, application_name) WHERE ${sql.literal(IS_STANDBY)}`
    expect(counted).toEqual([{ client: "standby" }, { client: "untold standby" }])
  }).pipe(Effect.scoped)
)
