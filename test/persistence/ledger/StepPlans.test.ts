import { it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { expect } from "vitest"
import { AppId } from "../../../src/domain/Ids.ts"
import { release } from "../../../src/domain/Ledger.ts"
import { add } from "../../../src/domain/Money.ts"
import { effectiveLimits, windowUse } from "../../../src/domain/VelocityLimits.ts"
import { Database } from "../../../src/persistence/Database.ts"
import { applyStatement } from "../../../src/persistence/ledger/FloatLedgerPg.ts"
import { openStatement } from "../../../src/persistence/ledger/OpenSteps.ts"
import type { OpenStep } from "../../../src/services/ports/FloatLedger.ts"
import { openStep } from "../../support/LedgerSteps.ts"
import { NOON, type payout } from "../../support/SampleTransactions.ts"
import { givenDatabase, newReference } from "../../support/TestDatabase.ts"

const TENANTS = 300
const STEPS = 8
/** A step reads a row of a table so many times at most, its windows included. */
const READS_A_STEP = 16

const given = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO tenants (app_id, status, capabilities, created_at)
    SELECT 'tenant' || n, 'active', '{payouts}', now() FROM generate_series(1, ${TENANTS}::int) n`
  yield* sql`INSERT INTO float_positions (app_id, mode, currency, available_minor, credited_minor)
    SELECT app_id, 'live', 'UGX', 1000, 1000 FROM tenants`
  const keys = yield* sql<{ app_id: string; fence: bigint }>`
    INSERT INTO idempotency_keys (app_id, mode, endpoint, key, fingerprint, fence, state, lease_until, created_at)
    SELECT app_id, 'live', 'POST /v1/payouts', 'key', '\\x00', nextval('fences'), 'claimed', now(), now() FROM tenants RETURNING app_id, fence`
  return yield* Effect.forEach(keys, ({ app_id, fence }) =>
    Effect.map(newReference, (reference): OpenStep => {
      const appId = AppId.make(app_id)
      const scope = { appId, mode: "live", endpoint: "POST /v1/payouts", key: "key" } as const
      const counters = effectiveLimits("live", "payout", []).map((limit) => windowUse(appId, limit, "00", NOON))
      return { ...openStep({ scope, fence, reference, leaseUntil: NOON }, 10n, 1n), counters }
    })
  )
})

const failing = ({ claim, transaction }: OpenStep) => {
  const opened = transaction as ReturnType<typeof payout>
  return {
    expectedRevision: 1n,
    before: opened,
    next: { ...opened, status: "failed" as const, version: 2 },
    entry: release("UGX", add(opened.principal, opened.heldFee)),
    line: { at: NOON, actor: "callback" as const, fact: "Refused", note: "", status: "failed" },
    event: null,
    nextPollAt: null,
    response: { claim, response: { status: 201, body: "{}" } },
    savesBeneficiary: true,
    restoreLimits: true,
    wipeDestination: true,
    raw: null,
    traceparent: null
  }
}

it.live("a batch of money steps reads its own rows alone, also where the tables were empty when they were analysed", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`ANALYZE`
    const steps = (yield* given).map((step) => ({ ...step, traceparent: null }))
    yield* sql.unsafe(...openStatement(steps.slice(STEPS)))
    const own = steps.slice(0, STEPS)
    // Of one transaction: what was read before and is not counted elsewhere yet stands there, too.
    const reads = Effect.map(
      sql<{
        name: string
        read: bigint
      }>`SELECT relname::text AS name, (seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint AS read
        FROM pg_stat_xact_user_tables`,
      (rows) => new Map(rows.map(({ name, read }) => [name, read]))
    )
    const [before, after] = yield* sql.withTransaction(
      Effect.gen(function* () {
        const first = yield* reads
        yield* sql.unsafe(...openStatement(own))
        yield* sql.unsafe(...applyStatement(own.map(failing)))
        return [first, yield* reads] as const
      })
    )
    const many = [...after].map(([name, read]) => ({ name, read: Number(read - (before.get(name) ?? 0n)) }))
    expect(many.filter(({ read }) => read > STEPS * READS_A_STEP)).toStrictEqual([])
    yield* sql.unsafe(...applyStatement(steps.slice(STEPS).map(failing)))
    expect(yield* sql`SELECT is_open FROM open_work`).toHaveLength(0)
  }).pipe(
    Effect.provide(
      Layer.unwrap(Effect.map(givenDatabase, (url) => Database.layer({ url }, { applicationName: "plans", connections: 1 }))),
      { local: true }
    ),
    Effect.scoped
  )
)
