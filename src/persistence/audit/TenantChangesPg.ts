import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { AppId, Mode } from "../../domain/Ids.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { TenantChanges } from "../../services/ports/TenantChanges.ts"
import { EveryTenant } from "../cluster/EveryTenant.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import type { TenantFilter } from "../connection/TenantFilter.ts"
import { type Swept, sweptIn } from "../vault/Retention.ts"

const changeRows = rowsOf(
  Schema.Struct({
    appId: AppId,
    mode: Mode,
    place: Schema.BigInt,
    at: Moment,
    actor: Schema.String,
    action: Schema.String,
    details: Schema.fromJsonString(Schema.Record(Schema.String, Schema.String))
  })
)

/** TenantChanges on PostgreSQL. It reads and prunes tenant_changes; AuditTrail writes it, in the commit of the change. */
export const TenantChangesPg = layerOf(TenantChanges)(function* () {
  const sql = yield* SqlClient.SqlClient
  const everyTenant = yield* EveryTenant

  const list = Effect.fn("TenantChanges.list")(function* (appId: AppId, mode: Mode | null, limit: number) {
    const modes = mode === null ? Mode.literals : [mode]
    const rows = yield* changeRows(sql`
      SELECT app_id AS "appId", mode, place, at, actor, action, details FROM tenant_changes
      WHERE app_id = ${appId} AND mode = ANY (${modes}) ORDER BY at DESC, mode, place DESC LIMIT ${limit}`)
    return rows.map(({ appId: of, mode: its, ...row }) => ({ ...row, subject: of, tenant: { appId: of, mode: its } }))
  })

  const prune = Effect.fn("TenantChanges.prune")(function* (before: Instant, limit: number) {
    const swept = (of: TenantFilter) => sql<Swept>`
      WITH old AS MATERIALIZED (
        SELECT app_id, mode, place FROM tenant_changes WHERE at < ${iso(before)}::timestamptz ${of("app_id")} ORDER BY at LIMIT ${limit}
      ),
      removed AS (
        DELETE FROM tenant_changes c USING old o WHERE c.app_id = o.app_id AND c.mode = o.mode AND c.place = o.place ${of("c.app_id")} RETURNING 1
      )
      SELECT count(*)::int AS swept FROM removed`
    return sweptIn((yield* everyTenant.sweep(swept)).rows)
  }, Effect.orDie)

  return { list, prune }
})
