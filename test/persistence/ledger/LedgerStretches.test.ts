import { expect, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { iso } from "../../../src/domain/Instant.ts"
import { isAskedOfStretches } from "../../../src/persistence/ledger/LedgerChanges.ts"
import { breachesStatement } from "../../../src/persistence/ledger/LedgerRule.ts"
import { ledgerStretches, StretchSize } from "../../../src/persistence/ledger/LedgerStretches.ts"
import { LedgerVerificationPg, ledgerRules } from "../../../src/persistence/ledger/LedgerVerificationPg.ts"
import { verificationSteps } from "../../../src/persistence/ledger/VerificationSteps.ts"
import { LedgerVerification } from "../../../src/services/ports/LedgerVerification.ts"
import { appId, given, openOne } from "../../support/LedgerSteps.ts"
import { NOON } from "../../support/SampleTransactions.ts"

const DAY_MS = 24 * 3_600_000
const rules = ledgerRules.filter(isAskedOfStretches)

/** Three payouts of NOON, of a tenant that was made the day before, so that many stretches follow; checked one record at a time. */
const givenBooks = Effect.gen(function* () {
  const { node } = yield* given(50_000n)
  for (const key of ["1", "2", "3"]) yield* Effect.provideContext(openOne(appId, key, 1_000n), node)
  const sql = Context.get(node, SqlClient.SqlClient)
  yield* sql`UPDATE tenants SET created_at = ${iso(NOON - DAY_MS)}::timestamptz`
  const audit = Context.get(yield* Effect.provideContext(Layer.build(LedgerVerificationPg), node), LedgerVerification)
  const records = yield* sql<{ reference: string }>`SELECT reference FROM transactions WHERE app_id = ${appId} ORDER BY reference`
  const inStretches = Effect.map(Effect.provideService(audit.verify, StretchSize, 1), ({ checked, differences }) => ({
    found: differences
      .filter((one) => rules.some(({ rule }) => rule === one.rule))
      .map((one) => `${one.rule} ${one.subject}: ${one.found}`),
    checked: rules.map(({ rule }) => checked[rule])
  }))
  const atOnce = Effect.gen(function* () {
    const found: Array<string> = []
    const checked: Array<number> = []
    for (const one of rules) {
      for (const row of yield* sql.unsafe<{ subject: string; found: string }>(breachesStatement(one, 99)))
        found.push(`${one.rule} ${row.subject}: ${row.found}`)
      checked.push(Number((yield* sql.unsafe<{ count: bigint }>(one.counted))[0]?.count))
    }
    return { found, checked }
  })
  return { atOnce, inStretches, sql, reference: records[0]?.reference ?? "" }
})

const sorted = ({
  checked,
  found
}: {
  readonly found: ReadonlyArray<string>
  readonly checked: ReadonlyArray<number | undefined>
}) => ({
  checked,
  found: found.toSorted()
})

it.live("stretches find what the rules find of everything at once, and count each row once", () =>
  Effect.gen(function* () {
    const { atOnce, inStretches, reference, sql } = yield* givenBooks
    expect(sorted(yield* inStretches)).toEqual(sorted(yield* atOnce))
    // Keys of one record, days before and after it and after each other.
    for (const [at, key] of [-3, 2, 5].entries())
      yield* sql`INSERT INTO idempotency_keys (app_id, mode, endpoint, key, fingerprint, state, lease_until, reference, created_at)
        VALUES (${appId}, 'live', 'POST /v1/payouts', ${`again-${at}`}, '', 'pinned', now(), ${reference}, ${iso(NOON + key * DAY_MS)}::timestamptz)`
    // A recovery's delivery of an event that is gone, and another to a further endpoint.
    yield* sql`INSERT INTO deliveries (app_id, id, mode, event_id, status, created_at)
      VALUES (${appId}, 'D1', 'live', 'E0', 'parked', ${iso(NOON + DAY_MS)}::timestamptz)`
    yield* sql`INSERT INTO named_deliveries (app_id, id, queue, mode, endpoint, event_id, status, next_attempt_at, created_at)
      VALUES (${appId}, 'D2', 'live/erp', 'live', 'erp', 'E0', 'due', ${iso(NOON + 2 * DAY_MS)}::timestamptz, ${iso(NOON + 2 * DAY_MS)}::timestamptz)`
    // An event that tells of no record, and is not delivered to the endpoint that wants it.
    yield* sql`INSERT INTO named_endpoints (app_id, queue, mode, name, url, events, enabled, secret_sealed, created_at, updated_at)
      VALUES (${appId}, 'live/erp', 'live', 'erp', 'https://acme.example/', '{payout.failed}', true, '', to_timestamp(0), to_timestamp(0))`
    yield* sql`INSERT INTO events (app_id, id, mode, type, reference, body, created_at)
      VALUES (${appId}, 'E1', 'live', 'payout.failed', NULL, '{}', ${iso(NOON + 3 * DAY_MS)}::timestamptz)`
    const whole = yield* atOnce
    expect(sorted(yield* inStretches)).toEqual(sorted(whole))
    expect(whole.found).toEqual(
      expect.arrayContaining([
        `keys_are_linked ${appId}/${reference}: more than one key`,
        `deliveries_have_their_event ${appId}/D1: a delivery that is parked, of an event that is not there`,
        `deliveries_have_their_event ${appId}/D2: a delivery that is due, of an event that is not there`,
        `deliveries_come_due ${appId}/D2: it is due, and does not wait to be delivered`,
        expect.stringMatching(`^events_have_their_delivery ${appId}/E1: the endpoint erp wants`)
      ])
    )
  }).pipe(Effect.scoped)
)

it.live("the last stretch has the last hour, because a row may be committed later than the moment that it bears", () =>
  Effect.gen(function* () {
    const { node } = yield* given(50_000n)
    const sql = Context.get(node, SqlClient.SqlClient)
    const { check } = ledgerStretches(sql, verificationSteps(sql, { isDistributed: false }), [])
    const now = Date.now()
    const next = (minutesAgo: number) =>
      Effect.map(check({ from: now - minutesAgo * 60_000, length: 600_000 }), (found) => found.next?.from ?? null)
    expect(yield* next(80)).toBe(now - 70 * 60_000)
    expect(yield* next(65)).toBeNull()
  }).pipe(Effect.scoped)
)
