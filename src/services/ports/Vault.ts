import { Context, type Effect, type Redacted } from "effect"
import type { Destination } from "../../domain/Party.ts"
import { accountNumberIdentity } from "../../domain/PartyIdentity.ts"
import type { ReferenceHash } from "../../domain/ReferenceBucket.ts"

/**
 * Secrets at rest. Sealing is AES-256-GCM under the master key. `purpose` is authenticated data, so that a sealed value cannot
 * be moved to another place. Hashing is HMAC-SHA256 under a separate random key, which is sealed by the master key; rotation
 * only re-wraps it.
 */
export class Vault extends Context.Service<
  Vault,
  {
    readonly seal: (purpose: string, plain: Redacted.Redacted) => Effect.Effect<Uint8Array>
    /** Dies when the value was sealed under another key or for another purpose: the installation is broken. */
    readonly open: (purpose: string, sealed: Uint8Array) => Effect.Effect<Redacted.Redacted>
    /** 32 bytes, always the same for a text and purpose. Plain text that is not secret need not be wrapped in Redacted. */
    readonly hash: (purpose: string, text: Redacted.Redacted | string) => Uint8Array
  }
>()("gateway/services/ports/Vault") {}

/** The hashes that lead from a reference to its tenant, by the vault's key. A tenant's bucket never changes: computed once. */
export const referenceHash = ({ hash }: Pick<Vault["Service"], "hash">): ReferenceHash => {
  const buckets = new Map<string, Uint8Array>()
  const bucketOf = (appId: string): Uint8Array => {
    const known = buckets.get(appId) ?? hash("tenant_bucket", appId)
    buckets.set(appId, known)
    return known
  }
  return (purpose, text) => (purpose === "tenant_bucket" ? bucketOf(text) : hash(purpose, text))
}

/** The purpose for hashing an account number without its bank. Searches use the hash; nothing else compares it. */
export const ACCOUNT_PURPOSE = "account"

/** The member for a step that opens a record; empty when the recipient has no bank account. */
export const accountHashOf = (
  destination: Destination,
  { hash }: Pick<Vault["Service"], "hash">
): { readonly accountHash?: Uint8Array } =>
  destination._tag === "bank" ? { accountHash: hash(ACCOUNT_PURPOSE, accountNumberIdentity(destination.accountNumber)) } : {}
