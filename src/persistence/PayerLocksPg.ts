import { Clock, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type AppId, type Mode, Reference } from "../domain/Ids.ts"
import { iso } from "../domain/Instant.ts"
import { PayerLocks } from "../services/ports/PayerLocks.ts"
import { Moment, rowsOf } from "./Rows.ts"

const holders = rowsOf(Schema.Struct({ reference: Schema.NullOr(Reference), at: Moment }))

export const PayerLocksPg = Layer.effect(
  PayerLocks,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const holder = Effect.fn("PayerLocks.holder")(function* (appId: AppId, mode: Mode, partyHash: Uint8Array) {
      const [row] = yield* holders(
        sql`SELECT reference, at FROM payer_locks WHERE app_id = ${appId} AND mode = ${mode} AND party_hash = ${partyHash}`
      )
      if (row !== undefined) return row.reference === null ? Option.none() : Option.some({ reference: row.reference, at: row.at })
      // Whoever is faster makes it; a charge that was placed in between is found when the row is locked.
      const now = iso(yield* Clock.currentTimeMillis)
      yield* sql`INSERT INTO payer_locks (app_id, mode, party_hash, at) VALUES (${appId}, ${mode}, ${partyHash}, ${now}::timestamptz)
        ON CONFLICT DO NOTHING`.pipe(Effect.orDie)
      return Option.none()
    })

    return PayerLocks.of({ holder })
  })
)
