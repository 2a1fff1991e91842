import { Effect, Exit, Option, Schema, type Scope } from "effect"
import type { SqlClient } from "effect/sql"
import { AppId, Mode } from "../../domain/Ids.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import { Caller, Role } from "../../domain/Tenant.ts"
import type { AuditEntry } from "../../services/ports/AuditLog.ts"
import type { KeyRow, NewKey, SigningKey, Tenants } from "../../services/ports/Tenants.ts"
import type { Vault } from "../../services/ports/Vault.ts"
import { type AuditTrail, byteaText } from "../audit/AuditTrail.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import type { TenantFilter } from "../connection/TenantFilter.ts"
import type { RowCache } from "../reads/RowCache.ts"
import { fits, keySeal, secretOf } from "../vault/AccessSeals.ts"

const KEYS_KEPT = 10_000
/** Anybody can name keys that are not there. */
const ABSENT_KEYS_KEPT = 1_000
const keysKept = { atMost: KEYS_KEPT, absent: { is: Option.isNone<SigningKey>, atMost: ABSENT_KEYS_KEPT } }
/** What a signed request may name; anything else is known to be no key without asking. */
const isKeyName = Schema.is(Schema.Tuple([AppId, Schema.String.check(Schema.isPattern(/^[\x21-\x7e]{1,64}$/))]))

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
  Schema.Struct({
    ...Caller.fields,
    apiKeyHash: Schema.Uint8Array,
    signingSecretSealed: Schema.Uint8Array,
    createdAt: Moment,
    accessSeal: Schema.NullOr(Schema.Uint8Array)
  })
)
const revokedKeys = rowsOf(Schema.Struct({ appId: Schema.String, keyId: Schema.String }))
const NOT_OURS = "a key is refused: its row is not as a gateway wrote it, so run gateway audit verify"

interface KeyStorage {
  readonly sql: SqlClient.SqlClient
  readonly vault: Vault["Service"]
  readonly trail: AuditTrail
  readonly unchanged: RowCache
}

type ApiKeys = Pick<Tenants["Service"], "issueKey" | "revokeKey" | "keys" | "signingKey">

/**
 * The API keys of tenants on PostgreSQL, a part of `TenantsPg`. It reads api_keys, which `change_access` writes. An API key is stored as a keyed hash only, a signing secret
 * sealed. Keys are cached, because every request needs one; the audit row of a change makes every node read them again.
 */
export const makeApiKeys = ({ sql, trail, unchanged, vault }: KeyStorage): Effect.Effect<ApiKeys, never, Scope.Scope> =>
  Effect.gen(function* () {
    const issueKey = Effect.fn("Tenants.issueKey")(function* (key: NewKey, audit: AuditEntry) {
      const { appId, keyId, mode, role } = key.caller
      const secret = yield* vault.seal(secretOf(appId, keyId), key.signingSecret)
      const to = {
        app_id: appId,
        key_id: keyId,
        mode,
        role,
        api_key_hash: byteaText(key.apiKeyHash),
        signing_secret_sealed: byteaText(secret),
        access_seal: byteaText(keySeal(vault.hash, key)),
        created_at: iso(key.createdAt)
      }
      const isIssued = yield* trail.change({ change: "key issue", to }, audit)
      yield* unchanged.forget
      return isIssued
    })

    const revokeKey = Effect.fn("Tenants.revokeKey")(function* (appId: AppId, keyId: string, at: Instant, audit: AuditEntry) {
      const to = { app_id: appId, key_id: keyId, revoked_at: iso(at) }
      const isRevoked = yield* trail.change({ change: "key revoke", to }, audit)
      yield* unchanged.forget
      return isRevoked
    })

    const keys = Effect.fn("Tenants.keys")(
      (appId: AppId): Effect.Effect<ReadonlyArray<KeyRow>> =>
        keyRows(sql`
          SELECT app_id AS "appId", key_id AS "keyId", mode, role, created_at AS "createdAt", revoked_at AS "revokedAt"
          FROM api_keys WHERE app_id = ${appId} ORDER BY created_at, key_id`)
    )

    const readKeys = Effect.fnUntraced(function* (names: ReadonlyArray<string>, of: TenantFilter) {
      const rows = yield* signingKeys(sql`
        SELECT k.* FROM unnest(${names.map(appIdOf)}::text[], ${names.map(keyIdOf)}::text[]) AS w(app_id, key_id)
        CROSS JOIN LATERAL (
          SELECT app_id AS "appId", key_id AS "keyId", mode, role, api_key_hash AS "apiKeyHash", signing_secret_sealed AS "signingSecretSealed",
            created_at AS "createdAt", access_seal AS "accessSeal"
          FROM api_keys WHERE app_id = w.app_id AND key_id = w.key_id AND revoked_at IS NULL ${of("app_id")} LIMIT 1
        ) k`)
      const gone = yield* revokedKeys(sql`SELECT r.app_id AS "appId", r.key_id AS "keyId" FROM revoked_keys r
        JOIN unnest(${names.map(appIdOf)}::text[], ${names.map(keyIdOf)}::text[]) AS w(app_id, key_id) ON (r.app_id, r.key_id) = (w.app_id, w.key_id)`)
      const isRevoked = new Set(gone.map(({ appId, keyId }) => nameOf(appId, keyId)))
      const found = new Map<string, SigningKey>()
      for (const { accessSeal, apiKeyHash, createdAt, signingSecretSealed, ...caller } of rows) {
        const { appId, keyId } = caller
        // Whoever can write its row can make it look valid again.
        const isOver = isRevoked.has(nameOf(appId, keyId)) || signingSecretSealed.length === 0
        // Keys of several tenants are read at once: one whose secret does not open is refused alone.
        const opened = isOver ? null : yield* Effect.exit(vault.open(secretOf(appId, keyId), signingSecretSealed))
        const signingSecret = opened !== null && Exit.isSuccess(opened) ? opened.value : null
        const isOurs =
          signingSecret !== null && fits(accessSeal, keySeal(vault.hash, { caller, createdAt, apiKeyHash, signingSecret }))
        if (isOurs) found.set(nameOf(appId, keyId), { caller, apiKeyHash, signingSecret })
        else yield* Effect.annotateLogs(Effect.logError(NOT_OURS), { app_id: appId, key_id: keyId })
      }
      return names.map((name) => Option.fromUndefinedOr(found.get(name)))
    })
    // An absent key is kept too, so that asking for one costs what asking for a present one does.
    const signing = yield* unchanged.keep({ read: readKeys, tenantOf: appIdOf, ...keysKept })

    const signingKey = (appId: string, keyId: string): Effect.Effect<Option.Option<SigningKey>> =>
      isKeyName([appId, keyId]) ? signing.get(nameOf(appId, keyId)) : Effect.succeedNone

    return { issueKey, revokeKey, keys, signingKey }
  })

/** An AppId holds no slash. */
const nameOf = (appId: string, keyId: string): string => `${appId}/${keyId}`
const appIdOf = (name: string): string => name.slice(0, name.indexOf("/"))
const keyIdOf = (name: string): string => name.slice(name.indexOf("/") + 1)
