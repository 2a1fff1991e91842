import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type Instant, iso } from "../domain/Instant.ts"
import { PartyHashes } from "../services/ports/PartyHashes.ts"

export const PartyHashesPg = Layer.effect(
  PartyHashes,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const forget = Effect.fn("PartyHashes.forget")(function* (before: Instant, limit: number) {
      const then = iso(before)
      const transactions = yield* sql`UPDATE transactions t SET party_hash = NULL
        FROM (
          SELECT app_id, reference FROM transactions
          WHERE party_hash IS NOT NULL AND created_at < ${then}::timestamptz AND status NOT IN ('pending', 'requires_action')
          ORDER BY created_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
        ) old WHERE t.app_id = old.app_id AND t.reference = old.reference RETURNING 1 AS forgotten`
      const locks = yield* sql`DELETE FROM payer_locks WHERE (app_id, mode, party_hash) IN (
        SELECT app_id, mode, party_hash FROM payer_locks WHERE at < ${then}::timestamptz ORDER BY at LIMIT ${limit} FOR UPDATE SKIP LOCKED
      ) RETURNING 1 AS forgotten`
      const requests = yield* sql`DELETE FROM code_requests WHERE (app_id, mode, party_hash) IN (
        SELECT app_id, mode, party_hash FROM code_requests
        WHERE NOT EXISTS (SELECT FROM unnest(sent) AS at WHERE at >= ${then}::timestamptz) LIMIT ${limit} FOR UPDATE SKIP LOCKED
      ) RETURNING 1 AS forgotten`
      const codes = yield* sql`DELETE FROM charge_codes c USING transactions t
        WHERE t.app_id = c.app_id AND t.reference = c.reference AND t.created_at < ${then}::timestamptz
          AND t.status NOT IN ('pending', 'requires_action') RETURNING 1 AS forgotten`
      return transactions.length + locks.length + requests.length + codes.length
    }, Effect.orDie)

    return PartyHashes.of({ forget })
  })
)
