import { Array as Arr, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { AppId, Mode } from "../domain/Ids.ts"
import { type Instant, iso } from "../domain/Instant.ts"
import { Caller, type Capability, type NewTenant, Role, Tenant } from "../domain/Tenant.ts"
import type { AuditEntry } from "../services/ports/AuditLog.ts"
import { type KeyRow, type NewKey, type SigningKey, Tenants } from "../services/ports/Tenants.ts"
import { Vault } from "../services/ports/Vault.ts"
import { type AuditTrail, auditTrail } from "./AuditTrail.ts"
import { makeBatchedRead } from "./BatchedRead.ts"
import { makeRowCache } from "./RowCache.ts"
import { Moment, rowsOf } from "./Rows.ts"

const KEYS_KEPT = 10_000
/** Anybody can name keys that are not there. */
const ABSENT_KEYS_KEPT = 1_000
const keysKept = { atMost: KEYS_KEPT, absent: { is: Option.isNone<SigningKey>, atMost: ABSENT_KEYS_KEPT } }
const TREATMENTS_KEPT = 10_000
const COLUMNS =
  'app_id AS "appId", status, capabilities, pinned_provider AS pinned, repeat_sales AS "repeatSales", created_at AS "createdAt"'
const defaultTreatment: Pick<Tenant, "pinned" | "repeatSales"> = { pinned: null, repeatSales: false }
/** What a signed request may name; anything else is known to be no key without asking. */
const isKeyName = Schema.is(Schema.Tuple([AppId, Schema.String.check(Schema.isPattern(/^[\x21-\x7e]{1,64}$/))]))

const tenants = rowsOf(Schema.Struct({ ...Tenant.fields, createdAt: Moment }))
const keyRows = rowsOf(
  Schema.Struct({
    appId: AppId,
    keyId: Schema.String,
    mode: Mode,
    role: Role,
    createdAt: Moment,
    revokedAt: Schema.NullOr(Moment)
  })
)
const signingKeys = rowsOf(
  Schema.Struct({ ...Caller.fields, apiKeyHash: Schema.Uint8Array, signingSecretSealed: Schema.Uint8Array })
)

/**
 * Tenants on PostgreSQL. It owns tenants and api_keys. A change is one statement on one row, committed with its audit row. Signing keys and pins
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
      const rows = yield* trail.withKept(
        sql`
        INSERT INTO tenants (app_id, status, capabilities, created_at)
        VALUES (${appId}, ${status}, ${capabilities}, ${iso(createdAt)}::timestamptz)
        ON CONFLICT (app_id) DO NOTHING
        RETURNING app_id`,
        audit
      )
      return rows.length === 1
    })

    const findAll = (appIds: ReadonlyArray<string>) =>
      tenants(sql`SELECT ${columns} FROM tenants WHERE app_id = ANY (${appIds})`).pipe(
        Effect.map((rows) => new Map<string, Tenant>(rows.map((row) => [row.appId, row]))),
        Effect.map((byId) => appIds.map((appId) => Option.fromUndefinedOr(byId.get(appId))))
      )
    const findOne = yield* makeBatchedRead(findAll)
    const find = (appId: AppId) => findOne(appId)

    const list = tenants(sql`SELECT ${columns} FROM tenants ORDER BY app_id`)

    /** How its payments are treated; its status and its grants are read anew each time. */
    const treatments = yield* unchanged.keep({
      read: (appIds) => findAll(appIds).pipe(Effect.map(Arr.map(Option.getOrElse(() => defaultTreatment)))),
      atMost: TREATMENTS_KEPT
    })
    const pinned = (appId: AppId) => Effect.map(treatments.get(appId), (tenant) => tenant.pinned)
    const repeatSales = (appId: AppId) => Effect.map(treatments.get(appId), (tenant) => tenant.repeatSales)

    const issueKey = Effect.fn("Tenants.issueKey")(function* (key: NewKey, audit: AuditEntry) {
      const { appId, keyId, mode, role } = key.caller
      const secret = yield* vault.seal(secretOf(appId, keyId), key.signingSecret)
      const rows = yield* trail.withKept(
        sql`
        INSERT INTO api_keys (app_id, key_id, mode, role, api_key_hash, signing_secret_sealed, created_at)
        SELECT app_id, ${keyId}, ${mode}, ${role}, ${key.apiKeyHash}, ${secret}, ${iso(key.createdAt)}::timestamptz
        FROM tenants WHERE app_id = ${appId}
        RETURNING key_id`,
        audit
      )
      yield* unchanged.forget
      return rows.length === 1
    })

    const revokeKey = Effect.fn("Tenants.revokeKey")(function* (appId: AppId, keyId: string, at: Instant, audit: AuditEntry) {
      const rows = yield* trail.withKept(
        sql`
        UPDATE api_keys SET revoked_at = ${iso(at)}::timestamptz WHERE app_id = ${appId} AND key_id = ${keyId} AND revoked_at IS NULL
        RETURNING key_id`,
        audit
      )
      yield* unchanged.forget
      return rows.length === 1
    })

    const keys = Effect.fn("Tenants.keys")(
      (appId: AppId): Effect.Effect<ReadonlyArray<KeyRow>> =>
        keyRows(sql`
          SELECT app_id AS "appId", key_id AS "keyId", mode, role, created_at AS "createdAt", revoked_at AS "revokedAt"
          FROM api_keys WHERE app_id = ${appId} ORDER BY created_at, key_id`)
    )

    const readKeys = Effect.fnUntraced(function* (names: ReadonlyArray<string>) {
      const rows = yield* signingKeys(sql`
        SELECT k.* FROM unnest(${names.map(appIdOf)}::text[], ${names.map(keyIdOf)}::text[]) AS w(app_id, key_id)
        CROSS JOIN LATERAL (
          SELECT app_id AS "appId", key_id AS "keyId", mode, role, api_key_hash AS "apiKeyHash", signing_secret_sealed AS "signingSecretSealed"
          FROM api_keys WHERE app_id = w.app_id AND key_id = w.key_id AND revoked_at IS NULL LIMIT 1
        ) k`)
      const found = new Map<string, SigningKey>()
      for (const { apiKeyHash, signingSecretSealed, ...caller } of rows) {
        const { appId, keyId } = caller
        const signingSecret = yield* vault.open(secretOf(appId, keyId), signingSecretSealed)
        found.set(nameOf(appId, keyId), { caller, apiKeyHash, signingSecret })
      }
      return names.map((name) => Option.fromUndefinedOr(found.get(name)))
    })
    // An absent key is kept too, so that asking for one costs what asking for a present one does.
    const signing = yield* unchanged.keep({ read: readKeys, ...keysKept })

    const signingKey = (appId: string, keyId: string): Effect.Effect<Option.Option<SigningKey>> =>
      isKeyName([appId, keyId]) ? signing.get(nameOf(appId, keyId)) : Effect.succeedNone

    return Tenants.of({
      create,
      find,
      list,
      ...changesOf(sql, trail, unchanged.forget),
      pinned,
      repeatSales,
      issueKey,
      revokeKey,
      keys,
      signingKey
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

/** An AppId holds no slash. */
const nameOf = (appId: string, keyId: string): string => `${appId}/${keyId}`
const appIdOf = (name: string): string => name.slice(0, name.indexOf("/"))
const keyIdOf = (name: string): string => name.slice(name.indexOf("/") + 1)

/** Names the place as well, so that a secret copied to another key's row does not open there. */
const secretOf = (appId: string, keyId: string): string => `signing_secret ${appId}/${keyId}`
