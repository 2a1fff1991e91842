import { expect, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { AuditLogPg } from "../../src/persistence/AuditLogPg.ts"
import { Database } from "../../src/persistence/Database.ts"
import { GatewayStatusPg } from "../../src/persistence/GatewayStatusPg.ts"
import { VaultPg } from "../../src/persistence/VaultPg.ts"
import { GatewayStatus, type IntegrityCheck } from "../../src/services/ports/GatewayStatus.ts"
import { givenDatabase, masterKey } from "../support/TestDatabase.ts"

const NOW = Date.now()

const given = Effect.gen(function* () {
  const url = yield* givenDatabase
  const context = yield* Layer.build(
    GatewayStatusPg.pipe(
      Layer.provideMerge(AuditLogPg),
      Layer.provideMerge(VaultPg.layer(masterKey)),
      Layer.provideMerge(Database.layer({ url }))
    )
  )
  return { sql: Context.get(context, SqlClient.SqlClient), standing: Context.get(context, GatewayStatus) }
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
    const group = { kind: "payout", mode: "live", provider: "alpha" }
    const minutes = (ago: number) => NOW - ago * 60_000
    expect(picture.open).toEqual([
      { ...group, age: "older", count: 1, unknown: 1, oldestAt: minutes(2880), oldestUnknownAt: minutes(2880) },
      { ...group, age: "10m", count: 3, unknown: 3, oldestAt: minutes(5), oldestUnknownAt: minutes(5) },
      { ...group, age: "1m", count: 2, unknown: 0, oldestAt: minutes(0.5), oldestUnknownAt: null }
    ])
    expect((yield* standing.unanswered(2)).map(({ createdAt }) => createdAt)).toEqual([minutes(2880), minutes(5)])
  }).pipe(Effect.scoped)
)

it.live("keeps the newest result of each check", () =>
  Effect.gen(function* () {
    const { standing } = yield* given
    const verify: IntegrityCheck = { name: "ledger verify", subject: "", at: NOW, differences: 2 }
    const reconcile: IntegrityCheck = { name: "reconcile", subject: "alpha", at: NOW, differences: 0 }
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
