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
  /** As of when the row was read. */
  readonly lastUsedAt: Instant | null
}

export interface NewKey extends KeyTerms {
  readonly caller: Caller
  readonly apiKeyHash: Uint8Array
  readonly signingSecret: Redacted.Redacted
  readonly createdAt: Instant
}

export interface KeyRow extends KeyTerms {
  readonly appId: AppId
  readonly keyId: string
  readonly mode: Mode
  readonly role: Role
  readonly createdAt: Instant
  /** The beginning of an hour of UTC; null where it was never used. */
  readonly lastUsedAt: Instant | null
  readonly revokedAt: Instant | null
}

/** The state that was looked at. A change of it since then counts, even where it is again as it was. */
export interface SeenState<State> {
  readonly state: State
  /** The last row of the audit log before it was looked at. */
  readonly sequence: bigint
}

/**
 * Tenants and their API keys. Every change writes its audit row in the same commit; making it again changes nothing. Every node sees a revoked
 * key or another pin within a second, and a frozen tenant at once: the freeze is checked again in the commit that opens a transaction.
 */
export class Tenants extends Context.Service<
  Tenants,
  {
    /** False when the name is taken; nothing is written then. */
    readonly create: (tenant: NewTenant, audit: AuditEntry) => Effect.Effect<boolean>
    readonly find: (appId: AppId) => Effect.Effect<Option.Option<Tenant>>
    /** Ordered by name. */
    readonly list: Effect.Effect<ReadonlyArray<Tenant>>
    /**
     * The tenant as it then is; none when there is no such tenant, or where it was frozen or unfrozen since `seen`. Nothing that is opened after it returns
     * passes a frozen one.
     */
    readonly setStatus: (
      appId: AppId,
      status: Tenant["status"],
      audit: AuditEntry,
      seen?: SeenState<Tenant["status"]>
    ) => Effect.Effect<Option.Option<Tenant>>
    /** Grants or denies; to do so again changes nothing. None when there is no such tenant. Every node sees it at once. */
    readonly setCapability: (
      appId: AppId,
      capability: Capability,
      granted: boolean,
      audit: AuditEntry
    ) => Effect.Effect<Option.Option<Tenant>>
    /** Pins to a provider, or with null to none; to do so again changes nothing. None when there is no such tenant, or where it was pinned or unpinned since `seen`. */
    readonly pin: (
      appId: AppId,
      provider: Tenant["pinned"],
      audit: AuditEntry,
      seen?: SeenState<Tenant["pinned"]>
    ) => Effect.Effect<Option.Option<Tenant>>
    /** Releases from the double-charge guard's word on successful charges, or not; to do so again changes nothing. None when there is no such tenant. */
    readonly setRepeatSales: (appId: AppId, allowed: boolean, audit: AuditEntry) => Effect.Effect<Option.Option<Tenant>>
    /** Whether a charge may follow a successful one of the same number at once; false for no such tenant. Seen as `pinned` is. */
    readonly repeatSales: (appId: AppId) => Effect.Effect<boolean>
    /** Sets the payer, or with null removes it. False when there is no such tenant. */
    readonly setSender: (appId: AppId, sender: Sender | null, audit: AuditEntry) => Effect.Effect<boolean>
    /**
     * The payer; null where none is set, and for no such tenant; "unreadable" where the stored one does not open. As current as `pinned`.
     */
    readonly sender: (appId: AppId) => Effect.Effect<Sender | "unreadable" | null>
    /** The provider that a tenant is pinned to; null for none, and for no such tenant. A change is seen within a second by every node. */
    readonly pinned: (appId: AppId) => Effect.Effect<Tenant["pinned"]>
    /** False when there is no such tenant. */
    readonly issueKey: (key: NewKey, audit: AuditEntry) => Effect.Effect<boolean>
    /** False when there is no such key, or it was revoked before. */
    readonly revokeKey: (appId: AppId, keyId: string, at: Instant, audit: AuditEntry) => Effect.Effect<boolean>
    readonly keys: (appId: AppId) => Effect.Effect<ReadonlyArray<KeyRow>>
    /** A key that is not revoked. A revocation is seen within a second by every node. */
    readonly signingKey: (appId: string, keyId: string) => Effect.Effect<Option.Option<SigningKey>>
    /** Keeps the hour in which a key was used, given by its beginning. An earlier hour than the kept one changes nothing. No audit row. */
    readonly noteUse: (key: Pick<Caller, "appId" | "keyId">, hour: Instant) => Effect.Effect<void>
  }
>()("gateway/services/ports/Tenants") {}
