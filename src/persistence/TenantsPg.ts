import { Array as Arr, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { AppId } from "../domain/Ids.ts"
import { iso } from "../domain/Instant.ts"
import { bucketOfTenant } from "../domain/ReferenceBucket.ts"
import { type Capability, type NewTenant, Tenant } from "../domain/Tenant.ts"
import type { AuditEntry } from "../services/ports/AuditLog.ts"
import { Tenants } from "../services/ports/Tenants.ts"
import { Vault } from "../services/ports/Vault.ts"
import { makeApiKeys } from "./ApiKeysPg.ts"
import { type AuditTrail, auditTrail } from "./AuditTrail.ts"
import { makeTenantRead } from "./BatchedRead.ts"
import { bucketHash } from "./BucketHash.ts"
import { makeRowCache } from "./RowCache.ts"
import { Moment, rowsOf } from "./Rows.ts"

const TREATMENTS_KEPT = 10_000
const COLUMNS =
  'app_id AS "appId", status, capabilities, pinned_provider AS pinned, repeat_sales AS "repeatSales", created_at AS "createdAt"'
const defaultTreatment: Pick<Tenant, "pinned" | "repeatSales"> = { pinned: null, repeatSales: false }

const tenants = rowsOf(Schema.Struct({ ...Tenant.fields, createdAt: Moment }))

/**
 * Tenants on PostgreSQL. It owns tenants and tenant_directory; `ApiKeysPg` has their keys. A change is one statement on one row, committed with its audit row. Pins
 * are cached, because every request needs them; the audit row counts up the number that tells every node to read them again.
 */
export const TenantsPg = Layer.effect(
  Tenants,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const vault = yield* Vault
    const unchanged = yield* makeRowCache(sql)
    const trail = auditTrail(sql, vault.hash)
    const columns = sql.literal(COLUMNS)

    const create = Effect.fn("Tenants.create")(function* (tenant: NewTenant, audit: AuditEntry) {
      const { appId, capabilities, createdAt, status } = tenant
      const tenantRow = sql`
        INSERT INTO tenants (app_id, status, capabilities, created_at)
        VALUES (${appId}, ${status}, ${capabilities}, ${iso(createdAt)}::timestamptz)
        ON CONFLICT (app_id) DO NOTHING
        RETURNING app_id`
      // A statement of its own: the two tables may be on two servers.
      const directoryRow = sql`
        INSERT INTO tenant_directory (app_id, bucket) VALUES (${appId}, ${bucketOfTenant(bucketHash(vault), appId)})
        ON CONFLICT (app_id) DO NOTHING`
      const rows = yield* trail.withKept(
        Effect.tap(tenantRow, (made) => (made.length === 0 ? Effect.void : Effect.asVoid(directoryRow))),
        audit
      )
      return rows.length === 1
    })

    const itself = (appId: string) => appId
    const findAll = (appIds: ReadonlyArray<string>) =>
      tenants(sql`SELECT ${columns} FROM tenants WHERE app_id = ANY (${appIds})`).pipe(
        Effect.map((rows) => new Map<string, Tenant>(rows.map((row) => [row.appId, row]))),
        Effect.map((byId) => appIds.map((appId) => Option.fromUndefinedOr(byId.get(appId))))
      )
    const findOne = yield* makeTenantRead(sql, itself, findAll)
    const find = (appId: AppId) => findOne(appId)

    const list = tenants(sql`SELECT ${columns} FROM tenants ORDER BY app_id`)

    /** How its payments are treated; its status and its grants are read anew each time. */
    const treatments = yield* unchanged.keep({
      read: (appIds) => findAll(appIds).pipe(Effect.map(Arr.map(Option.getOrElse(() => defaultTreatment)))),
      tenantOf: itself,
      atMost: TREATMENTS_KEPT
    })
    const pinned = (appId: AppId) => Effect.map(treatments.get(appId), (tenant) => tenant.pinned)
    const repeatSales = (appId: AppId) => Effect.map(treatments.get(appId), (tenant) => tenant.repeatSales)

    return Tenants.of({
      create,
      find,
      list,
      ...changesOf(sql, trail, unchanged.forget),
      pinned,
      repeatSales,
      ...(yield* makeApiKeys({ sql, vault, trail, unchanged }))
    })
  })
)

/** What operators change of a tenant. */
const changesOf = (sql: SqlClient.SqlClient, trail: AuditTrail, forget: Effect.Effect<void>) => {
  /** One change of one tenant and its audit row; the tenant as it then is. */
  const change = Effect.fnUntraced(function* (appId: AppId, assignment: Statement.Fragment, audit: AuditEntry) {
    const rows = yield* trail.withKept(
      tenants(sql`UPDATE tenants SET ${assignment} WHERE app_id = ${appId} RETURNING ${sql.literal(COLUMNS)}`),
      audit
    )
    yield* forget
    return Option.fromUndefinedOr(rows[0])
  })

  const setStatus = Effect.fn("Tenants.setStatus")((appId: AppId, status: Tenant["status"], audit: AuditEntry) =>
    change(appId, sql`status = ${status}`, audit)
  )

  const setCapability = Effect.fn("Tenants.setCapability")(
    (appId: AppId, capability: Capability, granted: boolean, audit: AuditEntry) => {
      const others = sql`array_remove(capabilities, ${capability}::text)`
      const all = granted ? sql`array_append(${others}, ${capability}::text)` : others
      return change(appId, sql`capabilities = ${all}`, audit)
    }
  )

  const pin = Effect.fn("Tenants.pin")((appId: AppId, provider: Tenant["pinned"], audit: AuditEntry) =>
    change(appId, sql`pinned_provider = ${provider}`, audit)
  )

  const setRepeatSales = Effect.fn("Tenants.setRepeatSales")((appId: AppId, allowed: boolean, audit: AuditEntry) =>
    change(appId, sql`repeat_sales = ${allowed}`, audit)
  )

  return { setStatus, setCapability, pin, setRepeatSales }
}
