import { Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Beneficiary } from "../../domain/Beneficiary.ts"
import type { AppId, Mode, Reference } from "../../domain/Ids.ts"
import { iso } from "../../domain/Instant.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import type { AuditedChange } from "../../services/ports/AuditLog.ts"
import { Beneficiaries, type BeneficiaryCursor } from "../../services/ports/Beneficiaries.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { auditTrail } from "../audit/AuditTrail.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import { OnTenantServer } from "../connection/ServerSlots.ts"

const beneficiaries = rowsOf(Schema.Struct({ ...Beneficiary.fields, createdAt: Moment, lastUsedAt: Moment }))
const counts = rowsOf(Schema.Struct({ purged: Schema.BigInt }))

/**
 * Beneficiaries on PostgreSQL. It owns the table beneficiaries, to which an accepted payout adds (`apply_steps`). A purge locks
 * rows in the order of their unique key, as that function does, so that the two never deadlock.
 */
export const BeneficiariesPg = layerOf(Beneficiaries)(function* () {
  const sql = yield* SqlClient.SqlClient
  const onTenantServer = yield* OnTenantServer
  const trail = auditTrail(sql, (yield* Vault).hash)
  const columns =
    sql.literal(`id, app_id AS "appId", mode, type, country, currency, network, bank_code AS "bankCode", branch_code AS "branchCode",
      bank_name AS "bankName", account_name AS "accountName", masked_destination AS "maskedDestination", created_at AS "createdAt", last_used_at AS "lastUsedAt"`)

  const list = Effect.fn("Beneficiaries.list")((appId: AppId, mode: Mode, limit: number, from: BeneficiaryCursor | null) =>
    from === null
      ? beneficiaries(sql`SELECT ${columns} FROM beneficiaries WHERE app_id = ${appId} AND mode = ${mode}
          ORDER BY created_at DESC, id DESC LIMIT ${limit}`)
      : beneficiaries(sql`SELECT ${columns} FROM beneficiaries WHERE app_id = ${appId} AND mode = ${mode}
          AND (created_at, id) < (${iso(from.createdAt)}::timestamptz, ${from.id}) ORDER BY created_at DESC, id DESC LIMIT ${limit}`)
  )

  const find = Effect.fn("Beneficiaries.find")(function* (appId: AppId, mode: Mode, id: Reference) {
    const rows = yield* beneficiaries(
      onTenantServer(appId)(sql`SELECT ${columns} FROM beneficiaries WHERE app_id = ${appId} AND mode = ${mode} AND id = ${id}`)
    )
    return Option.fromUndefinedOr(rows[0])
  })

  const purge = Effect.fn("Beneficiaries.purge")(
    function* (appId: AppId, change: AuditedChange) {
      // In the order in which accepted payouts lock them (`apply_steps`), so that purges and batches wait instead of deadlocking.
      const [counted] = yield* counts(sql`WITH doomed AS MATERIALIZED (
          SELECT app_id, id FROM beneficiaries WHERE app_id = ${appId} ORDER BY app_id, mode, party_hash FOR UPDATE
        ),
        purged AS (
          DELETE FROM beneficiaries b USING doomed d WHERE b.app_id = d.app_id AND b.id = d.id RETURNING 1
        )
        SELECT count(*) AS purged FROM purged`)
      const purged = Number(counted?.purged ?? 0n)
      yield* trail.write({ ...change, details: { ...change.details, purged: String(purged) } })
      return purged
    },
    (effect, appId) => onTenantServer(appId)(sql.withTransaction(effect)),
    Effect.orDie
  )

  return { list, find, purge }
})
