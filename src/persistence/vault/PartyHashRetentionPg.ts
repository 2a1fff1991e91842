import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type Instant, iso } from "../../domain/Instant.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { PartyHashRetention } from "../../services/ports/PartyHashRetention.ts"
import { EveryTenant } from "../cluster/EveryTenant.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"

const keptSince = rowsOf(Schema.Struct({ since: Schema.String }))
const oldest = rowsOf(Schema.Struct({ at: Schema.NullOr(Moment) }))

/** PartyHashRetention on PostgreSQL. It owns no table: it removes the hashes of phone numbers from the tables that have them. */
export const PartyHashRetentionPg = layerOf(PartyHashRetention)(function* () {
  const sql = yield* SqlClient.SqlClient
  const everyTenant = yield* EveryTenant

  // Each statement is a commit on one table and takes unlocked rows, so that it never waits; locked ones are for the next round.
  const prune = Effect.fn("PartyHashRetention.prune")(function* (before: Instant, limit: number) {
    const then = iso(before)
    // Since when all hashes are present: older ones were removed, and are not read again.
    const [kept] = yield* keptSince(sql`SELECT since::text AS since FROM kept_since WHERE what = 'numbers'`)
    const since = kept?.since ?? "-infinity"
    // Even of open transactions: nothing compares with such an old hash, and the windows in which they counted have ended.
    const transactions = yield* everyTenant.sweep(
      (of) => sql`WITH old AS MATERIALIZED (
        SELECT app_id, reference FROM transactions
        WHERE party_hash IS NOT NULL AND created_at < ${then}::timestamptz AND created_at >= ${since}::timestamptz ${of("app_id")}
        ORDER BY created_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
      )
      UPDATE transactions t SET party_hash = NULL, account_hash = NULL, counted = '[]' FROM old
      WHERE t.app_id = old.app_id AND t.reference = old.reference ${of("t.app_id")} RETURNING 1 AS forgotten`
    )
    // The next round begins at the oldest remaining one: a row that was locked and skipped, or whose server did not answer.
    const left = yield* everyTenant.read((of) =>
      oldest(sql`SELECT min(created_at) AS at FROM transactions
        WHERE party_hash IS NOT NULL AND created_at < ${then}::timestamptz AND created_at >= ${since}::timestamptz ${of("app_id")}`)
    )
    if (transactions.isWhole && left.isWhole)
      yield* sql`UPDATE kept_since k SET since = ${iso(Math.min(before, ...left.rows.map(({ at }) => at ?? before)))}::timestamptz
        FROM (SELECT what FROM kept_since WHERE what = 'numbers' AND since < ${then}::timestamptz FOR UPDATE SKIP LOCKED) AS free
        WHERE k.what = free.what`
    const locks = yield* everyTenant.sweep(
      (of) => sql`WITH old AS MATERIALIZED (
        SELECT app_id, mode, party_hash FROM payer_locks WHERE at < ${then}::timestamptz ${of("app_id")} ORDER BY at LIMIT ${limit} FOR UPDATE SKIP LOCKED
      )
      DELETE FROM payer_locks l USING old WHERE l.app_id = old.app_id AND l.mode = old.mode AND l.party_hash = old.party_hash ${of("l.app_id")}
      RETURNING 1 AS forgotten`
    )
    const requests = yield* everyTenant.sweep(
      (of) => sql`WITH old AS MATERIALIZED (
        SELECT app_id, mode, party_hash FROM code_requests
        WHERE NOT EXISTS (SELECT 1 FROM unnest(sent) AS at WHERE at >= ${then}::timestamptz) ${of("app_id")} LIMIT ${limit} FOR UPDATE SKIP LOCKED
      )
      DELETE FROM code_requests r USING old WHERE r.app_id = old.app_id AND r.mode = old.mode AND r.party_hash = old.party_hash ${of("r.app_id")}
      RETURNING 1 AS forgotten`
    )
    const codes = yield* everyTenant.sweep(
      (of) => sql`WITH old AS MATERIALIZED (
        SELECT c.app_id, c.reference FROM charge_codes c JOIN transactions t ON t.app_id = c.app_id AND t.reference = c.reference
        WHERE t.created_at < ${then}::timestamptz AND t.status NOT IN ('pending', 'requires_action') ${of("c.app_id")} ${of("t.app_id")}
        LIMIT ${limit} FOR UPDATE OF c SKIP LOCKED
      )
      DELETE FROM charge_codes c USING old WHERE c.app_id = old.app_id AND c.reference = old.reference ${of("c.app_id")} RETURNING 1 AS forgotten`
    )
    const sent = yield* everyTenant.sweep(
      (of) => sql`WITH old AS MATERIALIZED (
        SELECT app_id, mode, pin_id FROM sent_codes WHERE at < ${then}::timestamptz ${of("app_id")} ORDER BY at LIMIT ${limit} FOR UPDATE SKIP LOCKED
      )
      DELETE FROM sent_codes s USING old WHERE s.app_id = old.app_id AND s.mode = old.mode AND s.pin_id = old.pin_id ${of("s.app_id")}
      RETURNING 1 AS forgotten`
    )
    return [sent, transactions, locks, requests, codes].reduce((sum, { rows }) => sum + rows.length, 0)
  }, Effect.orDie)

  return { prune }
})
