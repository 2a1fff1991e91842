import { Array as Arr, Effect, Exit, Option, Redacted, Schema, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { AppId, Mode } from "../../domain/Ids.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import { bucketOfTenant } from "../../domain/ReferenceBucket.ts"
import { Sender } from "../../domain/Sender.ts"
import { Caller, type Capability, KeyTerms, Role, Tenant } from "../../domain/Tenant.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import type { AuditEntry } from "../../services/ports/AuditLog.ts"
import { type KeyRow, type NewKey, type SeenState, type SigningKey, Tenants } from "../../services/ports/Tenants.ts"
import { referenceHash, Vault } from "../../services/ports/Vault.ts"
import { type AuditTrail, auditTrail, byteaText } from "../audit/AuditTrail.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import type { TenantFilter } from "../connection/TenantFilter.ts"
import { makeTenantRead } from "../reads/BatchedRead.ts"
import { makeVersionedRowCache, type RowCache } from "../reads/RowCache.ts"
import { fits, keySeal, secretOf } from "../vault/AccessSeals.ts"

const TREATMENTS_KEPT = 10_000
const COLUMNS =
  'app_id AS "appId", status, capabilities, pinned_provider AS pinned, repeat_sales AS "repeatSales", created_at AS "createdAt"'
/** Not against a key that is being issued, which holds the head of the audit log and names its tenant. */
const HELD = "FOR NO KEY UPDATE"
const defaultTreatment: Pick<Tenant, "pinned" | "repeatSales"> = { pinned: null, repeatSales: false }

const tenants = rowsOf(Schema.Struct({ ...Tenant.fields, createdAt: Moment }))

/**
 * Tenants on PostgreSQL. `change_access` writes tenants and tenant_directory, one row together with its audit row;
 * `makeApiKeys` has the keys. Pins are cached, because every request needs them; the audit row increases the version that makes
 * every node read them again.
 */
export const TenantsPg = layerOf(Tenants)(function* () {
  const sql = yield* SqlClient.SqlClient
  const vault = yield* Vault
  const unchanged = yield* makeVersionedRowCache(sql)
  const trail = auditTrail(sql, vault.hash)
  const columns = sql.literal(COLUMNS)

  const itself = (appId: string) => appId
  const findAll = (appIds: ReadonlyArray<string>) =>
    tenants(sql`SELECT ${columns} FROM tenants WHERE app_id = ANY (${appIds})`).pipe(
      Effect.map((rows) => new Map<string, Tenant>(rows.map((row) => [row.appId, row]))),
      Effect.map((byId) => appIds.map((appId) => Option.fromUndefinedOr(byId.get(appId))))
    )
  const findOne = yield* makeTenantRead(sql, itself, findAll)

  /** How its payments are treated. Its status and its capabilities are read each time. */
  const treatments = yield* unchanged.keep({
    read: (appIds) => findAll(appIds).pipe(Effect.map(Arr.map(Option.getOrElse(() => defaultTreatment)))),
    tenantOf: itself,
    atMost: TREATMENTS_KEPT
  })

  const senders = yield* unchanged.keep({ read: makeSenders(sql, vault), tenantOf: itself, atMost: TREATMENTS_KEPT })

  return {
    sender: (appId) => senders.get(appId),
    setSender: senderChange({ sql, trail, vault, forget: unchanged.forget }),
    ...changesOf(sql, trail, unchanged.forget),
    ...(yield* makeApiKeys({ sql, vault, trail, unchanged })),

    create: Effect.fn("Tenants.create")(function* (tenant, audit) {
      const { appId, capabilities, createdAt, status } = tenant
      const bucket = bucketOfTenant(referenceHash(vault), appId)
      const to = { app_id: appId, status, capabilities, created_at: iso(createdAt), bucket }
      return yield* trail.change({ change: "tenant create", to }, audit)
    }),

    find: (appId) => findOne(appId),
    list: tenants(sql`SELECT ${columns} FROM tenants ORDER BY app_id`),
    pinned: (appId) => Effect.map(treatments.get(appId), (tenant) => tenant.pinned),
    repeatSales: (appId) => Effect.map(treatments.get(appId), (tenant) => tenant.repeatSales)
  }
})

const sealedSenders = rowsOf(Schema.Struct({ appId: Schema.String, sealed: Schema.Uint8Array }))
const SenderText = Schema.fromJsonString(Schema.toCodecJson(Sender))
const decodeSender = Schema.decodeUnknownEffect(SenderText)
const encodeSender = Schema.encodeEffect(SenderText)
const UNREADABLE = "the sender of a tenant does not open, and is sent to no provider: set it again with gateway sender set"
const senderPurpose = (appId: string): string => `sender ${appId}`

const makeSenders = (sql: SqlClient.SqlClient, vault: Vault["Service"]) =>
  Effect.fnUntraced(function* (appIds: ReadonlyArray<string>) {
    const rows = yield* sealedSenders(sql`SELECT app_id AS "appId", sender_sealed AS sealed FROM tenants
      WHERE app_id = ANY (${appIds}) AND sender_sealed IS NOT NULL`)
    return yield* Effect.forEach(appIds, (appId) => {
      const row = rows.find((one) => one.appId === appId)
      if (row === undefined) return Effect.succeed(null)
      // The rows of several tenants are read together: one that cannot be opened must not affect the others.
      return Effect.flatMap(vault.open(senderPurpose(appId), row.sealed), (text) => decodeSender(Redacted.value(text))).pipe(
        Effect.catchCause(() =>
          Effect.as(Effect.annotateLogs(Effect.logError(UNREADABLE), { app_id: appId }), "unreadable" as const)
        )
      )
    })
  })

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
      const locked = sql`SELECT FROM tenants WHERE app_id = ${appId} ${sql.literal(HELD)}`
      return yield* trail.change({ change: "tenant sender", to: { app_id: appId, sender_sealed: sealed } }, audit, locked)
    },
    (effect) => Effect.ensuring(Effect.orDie(effect), forget)
  )

const changesOf = (sql: SqlClient.SqlClient, trail: AuditTrail, forget: Effect.Effect<void>) => {
  /** Makes one change of a tenant with its audit row, and returns the changed tenant. */
  const change = Effect.fnUntraced(
    function* (
      appId: AppId,
      changed: (tenant: Tenant) => Partial<Tenant>,
      audit: AuditEntry,
      isAsSeen: (tenant: Tenant) => Effect.Effect<boolean> = () => Effect.succeed(true)
    ) {
      const [before] = yield* tenants(
        sql`SELECT ${sql.literal(COLUMNS)} FROM tenants WHERE app_id = ${appId} ${sql.literal(HELD)}`
      )
      if (before === undefined || !(yield* isAsSeen(before))) return Option.none<Tenant>()
      const after = { ...before, ...changed(before) }
      const { capabilities, pinned, repeatSales, status } = after
      const to = { app_id: appId, status, capabilities, pinned_provider: pinned, repeat_sales: repeatSales }
      yield* trail.change({ change: "tenant change", to }, audit)
      return Option.some(after)
    },
    (effect) => Effect.ensuring(Effect.orDie(sql.withTransaction(effect)), forget)
  )

  /** Under the state's lock: whether it is as it was seen. A tenant frozen anew is frozen for another reason. */
  const isStill = Effect.fnUntraced(function* <State>(
    now: State,
    seen: SeenState<State> | undefined,
    appId: AppId,
    actions: ReadonlyArray<string>
  ) {
    if (seen === undefined) return true
    if (now !== seen.state) return false
    const since = yield* noRows(sql`SELECT FROM audit_log
      WHERE sequence > ${seen.sequence} AND subject = ${appId} AND action = ANY (${actions}) LIMIT 1`)
    return since.length === 0
  })

  const setStatus = Effect.fn("Tenants.setStatus")(
    (appId: AppId, status: Tenant["status"], audit: AuditEntry, seen?: SeenState<Tenant["status"]>) =>
      change(
        appId,
        () => ({ status }),
        audit,
        (before) => isStill(before.status, seen, appId, ["tenant freeze", "tenant unfreeze"])
      )
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

  const pin = Effect.fn("Tenants.pin")(
    (appId: AppId, pinned: Tenant["pinned"], audit: AuditEntry, seen?: SeenState<Tenant["pinned"]>) =>
      change(
        appId,
        () => ({ pinned }),
        audit,
        (before) => isStill(before.pinned, seen, appId, ["tenant pin", "tenant unpin"])
      )
  )

  const setRepeatSales = Effect.fn("Tenants.setRepeatSales")((appId: AppId, repeatSales: boolean, audit: AuditEntry) =>
    change(appId, () => ({ repeatSales }), audit)
  )

  return { setStatus, setCapability, pin, setRepeatSales }
}

const KEYS_KEPT = 10_000
/** For keys that do not exist, which any client can name. */
const ABSENT_KEYS_KEPT = 1_000
const keysKept = { atMost: KEYS_KEPT, absent: { is: Option.isNone<SigningKey>, atMost: ABSENT_KEYS_KEPT } }
/** The key names that a signed request may contain; any other cannot exist, which needs no query. */
const isKeyName = Schema.is(Schema.Tuple([AppId, Schema.String.check(Schema.isPattern(/^[\x21-\x7e]{1,64}$/))]))

const keyRows = rowsOf(
  Schema.Struct({
    appId: AppId,
    keyId: Schema.String,
    mode: Mode,
    role: Role,
    ...KeyTerms.fields,
    createdAt: Moment,
    lastUsedAt: Schema.NullOr(Moment),
    revokedAt: Schema.NullOr(Moment)
  })
)
const signingKeys = rowsOf(
  Schema.Struct({
    ...Caller.fields,
    ...KeyTerms.fields,
    apiKeyHash: Schema.Uint8Array,
    signingSecretSealed: Schema.Uint8Array,
    createdAt: Moment,
    lastUsedAt: Schema.NullOr(Moment),
    accessSeal: Schema.NullOr(Schema.Uint8Array)
  })
)
const noRows = rowsOf(Schema.Struct({}))
const revokedKeys = rowsOf(Schema.Struct({ appId: Schema.String, keyId: Schema.String }))
const NOT_OURS = "a key is refused: its row is not as a gateway wrote it, so run gateway audit verify"

interface KeyStorage {
  readonly sql: SqlClient.SqlClient
  readonly vault: Vault["Service"]
  readonly trail: AuditTrail
  readonly unchanged: RowCache
}

type ApiKeys = Pick<Tenants["Service"], "issueKey" | "revokeKey" | "keys" | "signingKey" | "noteUse">

/**
 * The API keys of tenants on PostgreSQL, a part of `TenantsPg`. It reads api_keys, which `change_access` writes. An API key is
 * stored only as a keyed hash, a signing secret sealed. Keys are cached, because every request needs one; the audit row of a
 * change makes every node read them again.
 */
const makeApiKeys = ({ sql, trail, unchanged, vault }: KeyStorage): Effect.Effect<ApiKeys, never, Scope.Scope> =>
  Effect.gen(function* () {
    const issueKey = Effect.fn("Tenants.issueKey")(function* (key: NewKey, audit: AuditEntry) {
      const { appId, keyId, mode, role } = key.caller
      const secret = yield* vault.seal(secretOf(appId, keyId), key.signingSecret)
      const to = {
        app_id: appId,
        key_id: keyId,
        mode,
        role: role === "reader" ? "tenant" : role,
        is_reader: role === "reader",
        label: key.label,
        addresses: key.addresses,
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
          SELECT app_id AS "appId", key_id AS "keyId", mode, CASE WHEN is_reader THEN 'reader' ELSE role END AS role, label, addresses,
            created_at AS "createdAt", last_used_at AS "lastUsedAt", revoked_at AS "revokedAt"
          FROM api_keys WHERE app_id = ${appId} ORDER BY created_at, key_id`)
    )

    const readKeys = Effect.fnUntraced(function* (names: ReadonlyArray<string>, of: TenantFilter) {
      const rows = yield* signingKeys(sql`
        SELECT k.* FROM unnest(${names.map(appIdOf)}::text[], ${names.map(keyIdOf)}::text[]) AS w(app_id, key_id)
        CROSS JOIN LATERAL (
          SELECT app_id AS "appId", key_id AS "keyId", mode, CASE WHEN is_reader THEN 'reader' ELSE role END AS role, label, addresses,
            api_key_hash AS "apiKeyHash", signing_secret_sealed AS "signingSecretSealed", created_at AS "createdAt",
            last_used_at AS "lastUsedAt", access_seal AS "accessSeal"
          FROM api_keys WHERE app_id = w.app_id AND key_id = w.key_id AND revoked_at IS NULL ${of("app_id")} LIMIT 1
        ) k`)
      const gone = yield* revokedKeys(sql`SELECT r.app_id AS "appId", r.key_id AS "keyId" FROM revoked_keys r
        JOIN unnest(${names.map(appIdOf)}::text[], ${names.map(keyIdOf)}::text[]) AS w(app_id, key_id) ON (r.app_id, r.key_id) = (w.app_id, w.key_id)`)
      const isRevoked = new Set(gone.map(({ appId, keyId }) => nameOf(appId, keyId)))
      const found = new Map<string, SigningKey>()
      for (const row of rows) {
        const { accessSeal, addresses, apiKeyHash, createdAt, label, lastUsedAt, signingSecretSealed, ...caller } = row
        const { appId, keyId } = caller
        // An attacker with write access to its row can make it look valid again.
        const isOver = isRevoked.has(nameOf(appId, keyId)) || signingSecretSealed.length === 0
        // Keys of several tenants are read together: when a secret cannot be opened, only its key is refused.
        const opened = isOver ? null : yield* Effect.exit(vault.open(secretOf(appId, keyId), signingSecretSealed))
        const signingSecret = opened !== null && Exit.isSuccess(opened) ? opened.value : null
        const isOurs =
          signingSecret !== null &&
          fits(accessSeal, keySeal(vault.hash, { caller, label, addresses, createdAt, apiKeyHash, signingSecret }))
        if (isOurs) found.set(nameOf(appId, keyId), { caller, addresses, apiKeyHash, signingSecret, lastUsedAt })
        else yield* Effect.annotateLogs(Effect.logError(NOT_OURS), { app_id: appId, key_id: keyId })
      }
      return names.map((name) => Option.fromUndefinedOr(found.get(name)))
    })
    // An absent key is cached too, so that a request with one costs as much as one with a present key.
    const signing = yield* unchanged.keep({ read: readKeys, tenantOf: appIdOf, ...keysKept })

    const signingKey = (appId: string, keyId: string): Effect.Effect<Option.Option<SigningKey>> =>
      isKeyName([appId, keyId]) ? signing.get(nameOf(appId, keyId)) : Effect.succeedNone

    const noteUse = Effect.fn("Tenants.noteUse")(({ appId, keyId }: Pick<Caller, "appId" | "keyId">, hour: Instant) =>
      Effect.asVoid(
        noRows(sql`
          UPDATE api_keys SET last_used_at = ${iso(hour)}::timestamptz
          WHERE app_id = ${appId} AND key_id = ${keyId} AND (last_used_at IS NULL OR last_used_at < ${iso(hour)}::timestamptz)`)
      )
    )

    return { issueKey, revokeKey, keys, signingKey, noteUse }
  })

/** An AppId contains no slash. */
const nameOf = (appId: string, keyId: string): string => `${appId}/${keyId}`
const appIdOf = (name: string): string => name.slice(0, name.indexOf("/"))
const keyIdOf = (name: string): string => name.slice(name.indexOf("/") + 1)
