import { Array as Arr, Effect, Layer, Option, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { AppId } from "../../domain/Ids.ts"
import { iso } from "../../domain/Instant.ts"
import { bucketOfTenant } from "../../domain/ReferenceBucket.ts"
import { Sender } from "../../domain/Sender.ts"
import { type Capability, type NewTenant, Tenant } from "../../domain/Tenant.ts"
import type { AuditEntry } from "../../services/ports/AuditLog.ts"
import { Tenants } from "../../services/ports/Tenants.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { type AuditTrail, auditTrail, byteaText } from "../audit/AuditTrail.ts"
import { bucketHash } from "../connection/BucketHash.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import { makeTenantRead } from "../reads/BatchedRead.ts"
import { makeRowCache } from "../reads/RowCache.ts"
import { makeApiKeys } from "./ApiKeysPg.ts"

const TREATMENTS_KEPT = 10_000
const COLUMNS =
  'app_id AS "appId", status, capabilities, pinned_provider AS pinned, repeat_sales AS "repeatSales", created_at AS "createdAt"'
const defaultTreatment: Pick<Tenant, "pinned" | "repeatSales"> = { pinned: null, repeatSales: false }

const tenants = rowsOf(Schema.Struct({ ...Tenant.fields, createdAt: Moment }))

/**
 * Tenants on PostgreSQL. `change_access` writes tenants and tenant_directory, one row with its audit row; `ApiKeysPg` has the keys. Pins
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
      const bucket = bucketOfTenant(bucketHash(vault), appId)
      const to = { app_id: appId, status, capabilities, created_at: iso(createdAt), bucket }
      return yield* trail.change({ change: "tenant create", to }, audit)
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

    const senders = yield* unchanged.keep({ read: makeSenders(sql, vault), tenantOf: itself, atMost: TREATMENTS_KEPT })

    return Tenants.of({
      create,
      find,
      list,
      sender: (appId) => senders.get(appId),
      setSender: senderChange({ sql, trail, vault, forget: unchanged.forget }),
      ...changesOf(sql, trail, unchanged.forget),
      pinned,
      repeatSales,
      ...(yield* makeApiKeys({ sql, vault, trail, unchanged }))
    })
  })
)

const sealedSenders = rowsOf(Schema.Struct({ appId: Schema.String, sealed: Schema.Uint8Array }))
const SenderText = Schema.fromJsonString(Schema.toCodecJson(Sender))
const decodeSender = Schema.decodeUnknownEffect(SenderText)
const encodeSender = Schema.encodeEffect(SenderText)
const UNREADABLE = "the sender of a tenant does not open, and no provider is told it: set it again with gateway sender set"
const senderPurpose = (appId: string): string => `sender ${appId}`

const makeSenders = (sql: SqlClient.SqlClient, vault: Vault["Service"]) =>
  Effect.fnUntraced(function* (appIds: ReadonlyArray<string>) {
    const rows = yield* sealedSenders(sql`SELECT app_id AS "appId", sender_sealed AS sealed FROM tenants
      WHERE app_id = ANY (${appIds}) AND sender_sealed IS NOT NULL`)
    return yield* Effect.forEach(appIds, (appId) => {
      const row = rows.find((one) => one.appId === appId)
      if (row === undefined) return Effect.succeed(null)
      // The rows of several tenants are read at once: one that does not open is nobody else's trouble.
      return Effect.flatMap(vault.open(senderPurpose(appId), row.sealed), (text) => decodeSender(Redacted.value(text))).pipe(
        Effect.catchCause(() =>
          Effect.as(Effect.annotateLogs(Effect.logError(UNREADABLE), { app_id: appId }), "unreadable" as const)
        )
      )
    })
  })

/** One change and its audit row. */
const senderChange = ({
  forget,
  sql,
  trail,
  vault
}: {
  readonly sql: SqlClient.SqlClient
  readonly vault: Vault["Service"]
  readonly trail: AuditTrail
  readonly forget: Effect.Effect<void>
}) =>
  Effect.fn("Tenants.setSender")(
    function* (appId: AppId, sender: Sender | null, audit: AuditEntry) {
      const text = sender === null ? null : Redacted.make(yield* encodeSender(sender))
      const sealed = text === null ? null : byteaText(yield* vault.seal(senderPurpose(appId), text))
      const locked = sql`SELECT FROM tenants WHERE app_id = ${appId} FOR UPDATE`
      return yield* trail.change({ change: "tenant sender", to: { app_id: appId, sender_sealed: sealed } }, audit, locked)
    },
    (effect) => Effect.ensuring(Effect.orDie(effect), forget)
  )

/** What operators change of a tenant. */
const changesOf = (sql: SqlClient.SqlClient, trail: AuditTrail, forget: Effect.Effect<void>) => {
  /** One change of one tenant and its audit row; the tenant as it then is. */
  const change = Effect.fnUntraced(
    function* (appId: AppId, changed: (tenant: Tenant) => Partial<Tenant>, audit: AuditEntry) {
      const [before] = yield* tenants(sql`SELECT ${sql.literal(COLUMNS)} FROM tenants WHERE app_id = ${appId} FOR UPDATE`)
      if (before === undefined) return Option.none<Tenant>()
      const after = { ...before, ...changed(before) }
      const { capabilities, pinned, repeatSales, status } = after
      const to = { app_id: appId, status, capabilities, pinned_provider: pinned, repeat_sales: repeatSales }
      yield* trail.change({ change: "tenant change", to }, audit)
      return Option.some(after)
    },
    (effect) => Effect.ensuring(Effect.orDie(sql.withTransaction(effect)), forget)
  )

  const setStatus = Effect.fn("Tenants.setStatus")((appId: AppId, status: Tenant["status"], audit: AuditEntry) =>
    change(appId, () => ({ status }), audit)
  )

  const setCapability = Effect.fn("Tenants.setCapability")(
    (appId: AppId, capability: Capability, granted: boolean, audit: AuditEntry) =>
      change(
        appId,
        ({ capabilities }) => {
          const others = capabilities.filter((one) => one !== capability)
          return { capabilities: granted ? [...others, capability] : others }
        },
        audit
      )
  )

  const pin = Effect.fn("Tenants.pin")((appId: AppId, pinned: Tenant["pinned"], audit: AuditEntry) =>
    change(appId, () => ({ pinned }), audit)
  )

  const setRepeatSales = Effect.fn("Tenants.setRepeatSales")((appId: AppId, repeatSales: boolean, audit: AuditEntry) =>
    change(appId, () => ({ repeatSales }), audit)
  )

  return { setStatus, setCapability, pin, setRepeatSales }
}
