import { Cache, Effect, Exit, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { AppId, Mode } from "../domain/Ids.ts"
import { type Instant, iso } from "../domain/Instant.ts"
import { Caller, type Capability, type NewTenant, Role, Tenant } from "../domain/Tenant.ts"
import type { AuditEntry } from "../services/ports/AuditLog.ts"
import { type KeyRow, type NewKey, type SigningKey, Tenants } from "../services/ports/Tenants.ts"
import { Vault } from "../services/ports/Vault.ts"
import { readTogether } from "./ReadsTogether.ts"
import { Moment, rowsOf } from "./Rows.ts"

/** A revoked key is refused, and a pin followed, within a second by every node: what is kept in memory is younger than this. */
const KEPT_MS = 500
const KEYS_KEPT = 10_000
const PINS_KEPT = 10_000
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
const pins = rowsOf(Schema.Struct({ pinned: Tenant.fields.pinned }))
const changes = rowsOf(Schema.Struct({ sequence: Schema.BigInt }))

/** Tenants on PostgreSQL. Signing keys are kept in memory for a moment, because every request needs one. */
export const TenantsPg = Layer.effect(
  Tenants,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const vault = yield* Vault

    const create = Effect.fn("Tenants.create")(function* (tenant: NewTenant, audit: AuditEntry) {
      const { appId, capabilities, createdAt, status } = tenant
      const rows = yield* changes(sql`
        WITH made AS (
          INSERT INTO tenants (app_id, status, capabilities, created_at)
          VALUES (${appId}, ${status}, ${capabilities}, ${iso(createdAt)}::timestamptz)
          ON CONFLICT (app_id) DO NOTHING
          RETURNING app_id
        )
        SELECT append_audit(${iso(audit.at)}::timestamptz, ${audit.actor}, ${audit.action}, ${audit.subject}, ${JSON.stringify(audit.details)})
          AS sequence FROM made`)
      return rows.length === 1
    })

    const findOne = yield* readTogether((appIds: ReadonlyArray<AppId>) =>
      tenants(
        sql`SELECT app_id AS "appId", status, capabilities, pinned_provider AS pinned, created_at AS "createdAt" FROM tenants
          WHERE app_id = ANY (${appIds})`
      ).pipe(
        Effect.map((rows) => new Map(rows.map((row) => [row.appId, row]))),
        Effect.map((byId) => appIds.map((appId) => Option.fromUndefinedOr(byId.get(appId))))
      )
    )
    const find = Effect.fn("Tenants.find")((appId: AppId) => findOne(appId))

    const list = tenants(
      sql`SELECT app_id AS "appId", status, capabilities, pinned_provider AS pinned, created_at AS "createdAt" FROM tenants ORDER BY app_id`
    )

    const setStatus = Effect.fn("Tenants.setStatus")(function* (appId: AppId, status: Tenant["status"], audit: AuditEntry) {
      const rows = yield* tenants(sql`
        WITH changed AS (
          UPDATE tenants SET status = ${status} WHERE app_id = ${appId} RETURNING app_id, status, capabilities, pinned_provider, created_at
        )
        SELECT app_id AS "appId", status, capabilities, pinned_provider AS pinned, created_at AS "createdAt",
          append_audit(${iso(audit.at)}::timestamptz, ${audit.actor}, ${audit.action}, ${audit.subject}, ${JSON.stringify(audit.details)})
        FROM changed`)
      return Option.fromUndefinedOr(rows[0])
    })

    const setCapability = Effect.fn("Tenants.setCapability")(function* (
      appId: AppId,
      capability: Capability,
      granted: boolean,
      audit: AuditEntry
    ) {
      const rows = yield* tenants(sql`
        WITH changed AS (
          UPDATE tenants SET capabilities = CASE WHEN ${granted}::boolean
            THEN array_append(array_remove(capabilities, ${capability}::text), ${capability}::text)
            ELSE array_remove(capabilities, ${capability}::text) END
          WHERE app_id = ${appId} RETURNING app_id, status, capabilities, pinned_provider, created_at
        )
        SELECT app_id AS "appId", status, capabilities, pinned_provider AS pinned, created_at AS "createdAt",
          append_audit(${iso(audit.at)}::timestamptz, ${audit.actor}, ${audit.action}, ${audit.subject}, ${JSON.stringify(audit.details)})
        FROM changed`)
      return Option.fromUndefinedOr(rows[0])
    })

    const pin = Effect.fn("Tenants.pin")(function* (appId: AppId, provider: Tenant["pinned"], audit: AuditEntry) {
      const rows = yield* tenants(sql`
        WITH changed AS (
          UPDATE tenants SET pinned_provider = ${provider} WHERE app_id = ${appId}
          RETURNING app_id, status, capabilities, pinned_provider, created_at
        )
        SELECT app_id AS "appId", status, capabilities, pinned_provider AS pinned, created_at AS "createdAt",
          append_audit(${iso(audit.at)}::timestamptz, ${audit.actor}, ${audit.action}, ${audit.subject}, ${JSON.stringify(audit.details)})
        FROM changed`)
      yield* Cache.invalidate(keptPins, appId)
      return Option.fromUndefinedOr(rows[0])
    })

    const keptPins = yield* Cache.makeWith(
      (appId: AppId) =>
        Effect.map(
          pins(sql`SELECT pinned_provider AS pinned FROM tenants WHERE app_id = ${appId}`),
          ([row]) => row?.pinned ?? null
        ),
      { capacity: PINS_KEPT, timeToLive: (exit) => (Exit.isSuccess(exit) ? KEPT_MS : 0) }
    )
    const pinned = (appId: AppId) => Cache.get(keptPins, appId)

    const issueKey = Effect.fn("Tenants.issueKey")(function* (key: NewKey, audit: AuditEntry) {
      const { appId, keyId, mode, role } = key.caller
      const secret = yield* vault.seal(secretOf(appId, keyId), key.signingSecret)
      const rows = yield* changes(sql`
        WITH made AS (
          INSERT INTO api_keys (app_id, key_id, mode, role, api_key_hash, signing_secret_sealed, created_at)
          SELECT app_id, ${keyId}, ${mode}, ${role}, ${key.apiKeyHash}, ${secret}, ${iso(key.createdAt)}::timestamptz
          FROM tenants WHERE app_id = ${appId}
          RETURNING key_id
        )
        SELECT append_audit(${iso(audit.at)}::timestamptz, ${audit.actor}, ${audit.action}, ${audit.subject}, ${JSON.stringify(audit.details)})
          AS sequence FROM made`)
      yield* Cache.invalidate(kept, cacheKey(appId, keyId))
      return rows.length === 1
    })

    const revokeKey = Effect.fn("Tenants.revokeKey")(function* (appId: AppId, keyId: string, at: Instant, audit: AuditEntry) {
      const rows = yield* changes(sql`
        WITH revoked AS (
          UPDATE api_keys SET revoked_at = ${iso(at)}::timestamptz WHERE app_id = ${appId} AND key_id = ${keyId} AND revoked_at IS NULL
          RETURNING key_id
        )
        SELECT append_audit(${iso(audit.at)}::timestamptz, ${audit.actor}, ${audit.action}, ${audit.subject}, ${JSON.stringify(audit.details)})
          AS sequence FROM revoked`)
      yield* Cache.invalidate(kept, cacheKey(appId, keyId))
      return rows.length === 1
    })

    const keys = Effect.fn("Tenants.keys")(
      (appId: AppId): Effect.Effect<ReadonlyArray<KeyRow>> =>
        keyRows(sql`
          SELECT app_id AS "appId", key_id AS "keyId", mode, role, created_at AS "createdAt", revoked_at AS "revokedAt"
          FROM api_keys WHERE app_id = ${appId} ORDER BY created_at, key_id`)
    )

    const lookUp = Effect.fn("Tenants.signingKey.lookUp")(function* (appId: string, keyId: string) {
      const [row] = yield* signingKeys(sql`
        SELECT app_id AS "appId", key_id AS "keyId", mode, role, api_key_hash AS "apiKeyHash", signing_secret_sealed AS "signingSecretSealed"
        FROM api_keys WHERE app_id = ${appId} AND key_id = ${keyId} AND revoked_at IS NULL`)
      if (row === undefined) return Option.none<SigningKey>()
      const { apiKeyHash, signingSecretSealed, ...caller } = row
      return Option.some<SigningKey>({
        caller,
        apiKeyHash,
        signingSecret: yield* vault.open(secretOf(appId, keyId), signingSecretSealed)
      })
    })

    // An absent key is kept too, so that asking for one costs what asking for a present one does. A failure is not.
    const kept = yield* Cache.makeWith((key: string) => lookUp(key.slice(0, key.indexOf("/")), key.slice(key.indexOf("/") + 1)), {
      capacity: KEYS_KEPT,
      timeToLive: (exit) => (Exit.isSuccess(exit) ? KEPT_MS : 0)
    })

    const signingKey = (appId: string, keyId: string): Effect.Effect<Option.Option<SigningKey>> =>
      isKeyName([appId, keyId]) ? Cache.get(kept, cacheKey(appId, keyId)) : Effect.succeedNone

    return Tenants.of({ create, find, list, setStatus, setCapability, pin, pinned, issueKey, revokeKey, keys, signingKey })
  })
)

/** An AppId holds no slash. */
const cacheKey = (appId: string, keyId: string): string => `${appId}/${keyId}`

/** Names the place as well, so that a secret copied to another key's row does not open there. */
const secretOf = (appId: string, keyId: string): string => `signing_secret ${appId}/${keyId}`
