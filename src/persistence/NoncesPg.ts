import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type Instant, iso } from "../domain/Instant.ts"
import type { Caller } from "../domain/Tenant.ts"
import { Nonces } from "../services/ports/Nonces.ts"
import { rowsOf } from "./Rows.ts"

const spent = rowsOf(Schema.Struct({ nonce: Schema.String }))
const swept = rowsOf(Schema.Struct({ swept: Schema.Number }))

/** Nonces on PostgreSQL, hence shared by all nodes: the primary key decides who was first. */
export const NoncesPg = Layer.effect(
  Nonces,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const spend = Effect.fn("Nonces.spend")(function* ({ appId, keyId }: Caller, nonce: string, expiresAt: Instant) {
      const rows = yield* spent(sql`
        INSERT INTO nonces (app_id, key_id, nonce, expires_at) VALUES (${appId}, ${keyId}, ${nonce}, ${iso(expiresAt)}::timestamptz)
        ON CONFLICT (app_id, key_id, nonce) DO NOTHING
        RETURNING nonce`)
      return rows.length === 1
    })

    const sweep = Effect.fn("Nonces.sweep")(function* (now: Instant, limit: number) {
      const [row] = yield* swept(sql`
        WITH expired AS MATERIALIZED (
          SELECT app_id, key_id, nonce FROM nonces WHERE expires_at <= ${iso(now)}::timestamptz
          ORDER BY expires_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
        ),
        removed AS (
          DELETE FROM nonces n USING expired e WHERE n.app_id = e.app_id AND n.key_id = e.key_id AND n.nonce = e.nonce
          RETURNING n.nonce
        )
        SELECT count(*)::int AS swept FROM removed`)
      return row?.swept ?? 0
    })

    return Nonces.of({ spend, sweep })
  })
)
