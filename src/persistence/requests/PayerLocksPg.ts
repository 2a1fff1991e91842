import { Clock, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type AppId, type Mode, Reference } from "../../domain/Ids.ts"
import { Instant, iso } from "../../domain/Instant.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { type PayerCharges, PayerLocks } from "../../services/ports/PayerLocks.ts"
import { rowsOf } from "../connection/Rows.ts"
import { OnTenantServer } from "../connection/ServerSlots.ts"

const PayerRow = Schema.Struct({
  reference: Schema.NullOr(Reference),
  recent: Schema.Array(Schema.Struct({ reference: Reference, at: Instant }))
})
const payerRows = rowsOf(PayerRow)

/**
 * PayerLocks on PostgreSQL. It owns payer_locks, one row per tenant, mode and number, read and created without a lock.
 * `open_step` and CodesPg lock it before they charge the number, and compare its holder with the one that was read here.
 */
export const PayerLocksPg = layerOf(PayerLocks)(function* () {
  const sql = yield* SqlClient.SqlClient
  const onTenantServer = yield* OnTenantServer

  const charges = Effect.fn("PayerLocks.charges")(function* (appId: AppId, mode: Mode, partyHash: Uint8Array) {
    const [row] = yield* payerRows(
      onTenantServer(appId)(sql`SELECT reference, (
          SELECT coalesce(json_agg(json_build_object('reference', c.key, 'at', c.value) ORDER BY c.value DESC), '[]') FROM jsonb_each(recent) c
        ) AS recent
        FROM payer_locks WHERE app_id = ${appId} AND mode = ${mode} AND party_hash = ${partyHash}`)
    )
    if (row !== undefined) return { holder: row.reference, placed: row.recent } satisfies PayerCharges
    // The faster of two requests creates the row; a charge that was placed in between is found when the row is locked.
    const now = iso(yield* Clock.currentTimeMillis)
    const make = sql`INSERT INTO payer_locks (app_id, mode, party_hash, at) VALUES (${appId}, ${mode}, ${partyHash}, ${now}::timestamptz)
      ON CONFLICT DO NOTHING`
    yield* Effect.orDie(onTenantServer(appId)(make))
    return { holder: null, placed: [] } satisfies PayerCharges
  })

  return { charges }
})
