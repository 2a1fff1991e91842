import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { iso } from "../../domain/Instant.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { ProviderSwitches } from "../../services/ports/ProviderSwitches.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { auditTrail } from "../audit/AuditTrail.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import { cachedQuery } from "../reads/CachedQuery.ts"

const switches = rowsOf(
  Schema.Struct({ provider: Schema.String, isOff: Schema.Boolean, reason: Schema.String, changedAt: Moment })
)

/** ProviderSwitches on PostgreSQL. `change_access` writes provider_switches: a row per provider that was ever switched. */
export const ProviderSwitchesPg = layerOf(ProviderSwitches)(function* () {
  const sql = yield* SqlClient.SqlClient
  const trail = auditTrail(sql, (yield* Vault).hash)
  const read = switches(sql`
      SELECT provider, is_off AS "isOff", reason, changed_at AS "changedAt" FROM provider_switches ORDER BY provider`)
  const { forget, get: list } = yield* cachedQuery(read)

  return {
    list,

    set: Effect.fn("ProviderSwitches.set")(
      function* ({ changedAt, isOff, provider, reason }, audit, seen) {
        // Under the lock of the audit head, which every change holds until its commit.
        yield* sql`SELECT FROM audit_head_locked()`
        const found = (yield* read).find((one) => one.provider === provider)
        if ((found?.changedAt ?? null) !== seen) return false
        const to = { provider, is_off: isOff, reason, changed_at: iso(changedAt) }
        // A read before the end of a caller's transaction sees the previous state.
        yield* sql.afterCommit(forget)
        return yield* trail.change({ change: "provider switch", to }, audit)
      },
      (effect) => Effect.ensuring(Effect.orDie(sql.withTransaction(effect)), forget)
    )
  }
})
