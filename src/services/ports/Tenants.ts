import { Context, type Effect, type Option, type Redacted } from "effect"
import type { AppId, Mode } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Sender } from "../../domain/Sender.ts"
import type { Caller, Capability, KeyTerms, NewTenant, Role, Tenant } from "../../domain/Tenant.ts"
import type { AuditEntry } from "./AuditLog.ts"

/** A key as the signature check needs it. */
export interface SigningKey extends Pick<KeyTerms, "addresses"> {
  readonly caller: Caller
  /** HMAC of the API key under the gateway's own hashing key (`apiKeyPurpose`); the API key itself is not stored. */
  readonly apiKeyHash: Uint8Array
  readonly signingSecret: Redacted.Redacted
  /** As of when the row was read; it may be outdated. */
  readonly lastUsedAt: Instant | null
}

export interface NewKey extends KeyTerms, Pick<SigningKey, "caller" | "apiKeyHash" | "signingSecret"> {
  readonly createdAt: Instant
}

export interface KeyRow extends KeyTerms {
  readonly appId: AppId
  readonly keyId: string
  readonly mode: Mode
  readonly role: Role
  readonly createdAt: Instant
  /** The hour (UTC) in which the key was last used, given by its beginning; null when it was never used. */
  readonly lastUsedAt: Instant | null
  readonly revokedAt: Instant | null
}

/** The state that the caller has read. Any change since counts, even one that was undone. */
export interface SeenState<State> {
  readonly state: State
  /** The last row of the audit log at the time of reading. */
  readonly sequence: bigint
}

/**
 * Tenants and their API keys. Every change writes its audit row in the same commit; repeating a change has no effect. Every
 * node sees a revoked key or a changed pin within a second, and a frozen tenant at once: the commit that opens a transaction
 * checks the freeze again.
 */
export class Tenants extends Context.Service<
  Tenants,
  {
    /** False, and nothing is written, when the name is taken. */
    readonly create: (tenant: NewTenant, audit: AuditEntry) => Effect.Effect<boolean>
    readonly find: (appId: AppId) => Effect.Effect<Option.Option<Tenant>>
    /** Ordered by name. */
    readonly list: Effect.Effect<ReadonlyArray<Tenant>>
    /**
     * Returns the changed tenant; none when there is no such tenant, or when it was frozen or unfrozen since `seen`. Once a
     * freeze has returned, no transaction of the tenant can be opened.
     */
    readonly setStatus: (
      appId: AppId,
      status: Tenant["status"],
      audit: AuditEntry,
      seen?: SeenState<Tenant["status"]>
    ) => Effect.Effect<Option.Option<Tenant>>
    /** Grants or revokes a capability, which every node sees at once. Idempotent. None when there is no such tenant. */
    readonly setCapability: (
      appId: AppId,
      capability: Capability,
      granted: boolean,
      audit: AuditEntry
    ) => Effect.Effect<Option.Option<Tenant>>
    /**
     * Pins the tenant to a provider, or with null to none; repeating it changes nothing. None when there is no such tenant, or
     * when its pin has changed since `seen`.
     */
    readonly pin: (
      appId: AppId,
      provider: Tenant["pinned"],
      audit: AuditEntry,
      seen?: SeenState<Tenant["pinned"]>
    ) => Effect.Effect<Option.Option<Tenant>>
    /** Whether the double-charge guard lets a charge follow a successful one. Idempotent. None when there is no tenant. */
    readonly setRepeatSales: (appId: AppId, allowed: boolean, audit: AuditEntry) => Effect.Effect<Option.Option<Tenant>>
    /** Whether a charge may directly follow a number's successful one; false without such a tenant. As current as `pinned`. */
    readonly repeatSales: (appId: AppId) => Effect.Effect<boolean>
    /** Sets the payer for the tenant's payouts, or removes it with null. False when there is no such tenant. */
    readonly setSender: (appId: AppId, sender: Sender | null, audit: AuditEntry) => Effect.Effect<boolean>
    /** The payer; null when there is none; "unreadable" when the stored value cannot be opened. As current as `pinned`. */
    readonly sender: (appId: AppId) => Effect.Effect<Sender | "unreadable" | null>
    /** The provider that the tenant is pinned to; null when there is none. Every node sees a change within a second. */
    readonly pinned: (appId: AppId) => Effect.Effect<Tenant["pinned"]>
    /** False when there is no such tenant. */
    readonly issueKey: (key: NewKey, audit: AuditEntry) => Effect.Effect<boolean>
    /** False when there is no such key, or it was already revoked. */
    readonly revokeKey: (appId: AppId, keyId: string, at: Instant, audit: AuditEntry) => Effect.Effect<boolean>
    readonly keys: (appId: AppId) => Effect.Effect<ReadonlyArray<KeyRow>>
    /** A key that is not revoked. Every node sees a revocation within a second. */
    readonly signingKey: (appId: string, keyId: string) => Effect.Effect<Option.Option<SigningKey>>
    /** Stores the beginning of the hour in which a key was used. An earlier one than stored changes nothing. No audit row. */
    readonly noteUse: (key: Pick<Caller, "appId" | "keyId">, hour: Instant) => Effect.Effect<void>
  }
>()("gateway/services/ports/Tenants") {}
