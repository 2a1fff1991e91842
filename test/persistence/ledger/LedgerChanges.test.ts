import { expect, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { AppId } from "../../../src/domain/Ids.ts"
import { iso } from "../../../src/domain/Instant.ts"
import { ChangesSize } from "../../../src/persistence/ledger/ChangedVerification.ts"
import { LedgerVerificationPg } from "../../../src/persistence/ledger/LedgerVerificationPg.ts"
import { type ChangesBounds, LedgerVerification } from "../../../src/services/ports/LedgerVerification.ts"
import { given, givenTenantWith, openOne } from "../../support/LedgerSteps.ts"
import { NOON } from "../../support/SampleTransactions.ts"

const HOUR_MS = 3_600_000

/** Two tenants with a float and two payouts each, all of NOON, checked two references at a time. */
const givenBooks = Effect.gen(function* () {
  const { node } = yield* given(50_000n)
  yield* Effect.provideContext(givenTenantWith(AppId.make("beta"), 50_000n), node)
  const pay = (appId: string, key: string) => Effect.provideContext(openOne(AppId.make(appId), key, 1_000n), node)
  for (const appId of ["acme", "beta"]) for (const key of ["1", "2"]) yield* pay(appId, key)
  const sql = Context.get(node, SqlClient.SqlClient)
  const audit = Context.get(yield* Effect.provideContext(Layer.build(LedgerVerificationPg), node), LedgerVerification)
  const whole = audit.verifyWithin({ goesOn: false, until: null, onStep: () => Effect.void })
  const changed = (bounds: Partial<ChangesBounds> = {}) =>
    Effect.provideService(audit.verifyChanged({ since: null, onStep: () => Effect.void, ...bounds }), ChangesSize, 2)
  /** As if the last check had ended at this moment, with nothing summed that was posted from then on. */
  const lastCheckedAt = (at: number) =>
    Effect.andThen(
      sql`DELETE FROM position_folds`,
      sql`INSERT INTO changes_checked AS c (checked_upto, folded_upto) VALUES (${iso(at)}::timestamptz, ${iso(at)}::timestamptz)
        ON CONFLICT (is_only) DO UPDATE SET checked_upto = EXCLUDED.checked_upto, folded_upto = EXCLUDED.folded_upto`
    )
  const marks = sql`SELECT checked_upto < now() - interval '59 minutes' AND checked_upto > now() - interval '61 minutes' AS checked,
    folded_upto < now() - interval '59 minutes' AND folded_upto > now() - interval '61 minutes' AS folded FROM changes_checked`
  return { changed, lastCheckedAt, marks, pay, sql, whole }
})

/** Of the rules that steps without their requests keep. */
const RULES = ["columns_match_the_record", "history_is_whole", "positions_are_the_fold"]
const ofRules = ({ differences }: { readonly differences: ReadonlyArray<{ readonly rule: string; readonly subject: string }> }) =>
  differences.filter(({ rule }) => RULES.includes(rule)).map(({ rule, subject }) => `${rule} ${subject}`)

it.live("changes cannot be checked before everything was checked once", () =>
  Effect.gen(function* () {
    const { changed, whole } = yield* givenBooks
    expect(yield* Effect.flip(changed())).toMatchObject({ _tag: "ChangesNotVerifiable" })
    yield* whole
    expect(ofRules(yield* changed())).toEqual([])
  }).pipe(Effect.scoped)
)

it.live("a record that changed since then is checked, and one that did not is left to the others", () =>
  Effect.gen(function* () {
    const { changed, lastCheckedAt, sql } = yield* givenBooks
    yield* lastCheckedAt(NOON - HOUR_MS)
    yield* sql`UPDATE transactions SET provider = 'another'`
    const all = yield* sql<{ at: string }>`SELECT app_id || '/' || reference AS at FROM transactions ORDER BY 1`
    expect(ofRules(yield* changed())).toEqual(all.map(({ at }) => `columns_match_the_record ${at}`))
    yield* sql`DELETE FROM open_work`
    expect(ofRules(yield* changed({ since: Date.now() + HOUR_MS }))).toEqual([])
  }).pipe(Effect.scoped)
)

it.live("the sums behind positions are moved on once, and every position is held against them and what came since", () =>
  Effect.gen(function* () {
    const { changed, lastCheckedAt, marks, sql } = yield* givenBooks
    yield* lastCheckedAt(NOON - 2 * HOUR_MS)
    expect(ofRules(yield* changed())).toEqual([])
    const sums = sql`SELECT app_id, account, amount_minor::int AS amount FROM position_folds ORDER BY 1, 2`
    const summed = ["acme", "beta"].flatMap((app_id) => [
      { app_id, account: "available", amount: 46_000 },
      { app_id, account: "credited", amount: -50_000 },
      { app_id, account: "reserved", amount: 4_000 }
    ])
    expect([yield* sums, yield* marks]).toEqual([summed, [expect.objectContaining({ folded: true })]])
    yield* changed()
    expect(yield* sums).toEqual(summed)
    yield* sql`UPDATE float_positions SET available_minor = available_minor + 1, credited_minor = credited_minor + 1 WHERE app_id = 'beta'`
    const wrong = ["positions_are_the_fold beta/live/UGX/available", "positions_are_the_fold beta/live/UGX/credited"]
    expect([ofRules(yield* changed()), ofRules(yield* changed())]).toEqual([wrong, wrong])
    yield* sql`UPDATE float_positions SET available_minor = available_minor - 1, credited_minor = credited_minor - 1 WHERE app_id = 'beta'`
    expect(ofRules(yield* changed())).toEqual([])
  }).pipe(Effect.scoped)
)

it.live("a verification of all makes the sums anew, of small tenants and of those that take several steps", () =>
  Effect.gen(function* () {
    const { changed, sql, whole } = yield* givenBooks
    yield* sql`INSERT INTO position_folds (app_id, mode, currency, account, amount_minor, upto) VALUES ('acme', 'live', 'UGX', 'available', 1, now())`
    yield* whole
    expect(ofRules(yield* changed())).toEqual([])
    yield* sql`UPDATE position_folds SET amount_minor = amount_minor + 1 WHERE app_id = 'acme' AND account = 'available'`
    expect(ofRules(yield* changed())).toEqual(["positions_are_the_fold acme/live/UGX/available"])
    yield* whole
    expect(ofRules(yield* changed())).toEqual([])
  }).pipe(Effect.scoped)
)

it.live("what was found is found again until it is mended, however often changes are checked", () =>
  Effect.gen(function* () {
    const { changed, lastCheckedAt, sql } = yield* givenBooks
    yield* lastCheckedAt(NOON - HOUR_MS)
    yield* sql`UPDATE transactions SET provider = 'another' WHERE app_id = 'acme'`
    for (let round = 0; round < 2; round++) expect(ofRules(yield* changed())).toHaveLength(2)
    const [mark] = yield* sql<{ at: Date }>`SELECT checked_upto AS at FROM changes_checked`
    expect(mark?.at.getTime()).toBeLessThanOrEqual(NOON)
  }).pipe(Effect.scoped)
)

it.live("deliveries to further endpoints that are due or parked are no difference, whatever records are checked together", () =>
  Effect.gen(function* () {
    const { changed, lastCheckedAt, sql } = yield* givenBooks
    yield* sql`INSERT INTO named_endpoints (app_id, queue, mode, name, url, events, enabled, secret_sealed, created_at, updated_at)
      SELECT app_id, 'live/erp', 'live', 'erp', 'https://acme.example/', '{payout.pending}', true, '', to_timestamp(0), to_timestamp(0)
      FROM (VALUES ('acme'), ('beta')) AS t(app_id)`
    // Two records of one moment; a third of another, in a chunk with one of them.
    const [moved] = yield* sql<{ reference: string }>`SELECT reference FROM transactions WHERE app_id = 'beta' ORDER BY 1 LIMIT 1`
    yield* sql`UPDATE transactions SET created_at = created_at + interval '1 minute' WHERE reference = ${moved?.reference ?? ""}`
    yield* sql`SELECT write_event(app_id, mode, reference, created_at, reference, 'payout.pending', '{}') FROM transactions`
    yield* sql`WITH parked AS (
        UPDATE named_deliveries SET status = 'parked', next_attempt_at = NULL, completed_at = created_at WHERE app_id = 'acme' RETURNING app_id, id)
      DELETE FROM named_due_deliveries q USING parked p WHERE q.app_id = p.app_id AND q.id = p.id`
    const ofDeliveries = Effect.map(changed(), ({ differences }) =>
      differences.filter(({ rule }) => rule.includes("deliver")).map(({ found, rule }) => `${rule}: ${found}`)
    )
    yield* lastCheckedAt(NOON - HOUR_MS)
    expect(yield* ofDeliveries).toEqual([])
    yield* lastCheckedAt(NOON - HOUR_MS)
    yield* sql`DELETE FROM events WHERE id = (SELECT min(event_id) FROM named_deliveries WHERE app_id = 'acme')`
    yield* sql`DELETE FROM named_due_deliveries WHERE id = (SELECT min(id) FROM named_due_deliveries)`
    yield* sql`DELETE FROM named_deliveries WHERE id = (SELECT max(id) FROM named_deliveries WHERE status = 'due')`
    expect((yield* ofDeliveries).sort()).toEqual([
      "deliveries_come_due: it is due, and does not wait to be delivered",
      "deliveries_come_due: it waits to be delivered, and is not due",
      "deliveries_have_their_event: a delivery that is parked, of an event that is not there",
      "events_have_their_delivery: the endpoint erp wants payout.pending, and this one is not delivered to it"
    ])
  }).pipe(Effect.scoped)
)
