import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { iso } from "../../domain/Instant.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { AccountSweeps } from "../../services/ports/AccountSweeps.ts"
import { rowsOf } from "../connection/Rows.ts"

const claimed = rowsOf(Schema.Struct({ provider: Schema.String }))

/** AccountSweeps on PostgreSQL. It owns account_sweeps, one row per provider and mode; of several processes one gets the sweep. */
export const AccountSweepsPg = layerOf(AccountSweeps)(function* () {
  const sql = yield* SqlClient.SqlClient

  const claim: AccountSweeps["Service"]["claim"] = Effect.fn("AccountSweeps.claim")((provider, mode, now, until) =>
    claimed(sql`INSERT INTO account_sweeps (provider, mode, next_at) VALUES (${provider}, ${mode}, ${iso(until)}::timestamptz)
      ON CONFLICT (provider, mode) DO UPDATE SET next_at = EXCLUDED.next_at
      WHERE account_sweeps.next_at <= ${iso(now)}::timestamptz RETURNING provider`).pipe(Effect.map((rows) => rows.length > 0))
  )

  const done: AccountSweeps["Service"]["done"] = Effect.fn("AccountSweeps.done")((provider, mode, nextAt) =>
    Effect.asVoid(
      Effect.orDie(
        sql`UPDATE account_sweeps SET next_at = ${iso(nextAt)}::timestamptz WHERE provider = ${provider} AND mode = ${mode}`
      )
    )
  )

  return { claim, done }
})
