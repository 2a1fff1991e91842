import { Context, type Effect, type Redacted } from "effect"
import type { Destination } from "../../domain/Party.ts"
import { accountNumberIdentity } from "../../domain/PartyIdentity.ts"
import type { ReferenceHash } from "../../domain/ReferenceBucket.ts"

/**
 * Secrets at rest. Sealing is AES-256-GCM under the master key; `purpose` is authenticated with it, so that a sealed value cannot be
 * moved to another place. Hashing is HMAC-SHA256 under a random key of its own, which the master key seals and rotation only re-wraps.
 */
export class Vault extends Context.Service<
  Vault,
  {
    readonly seal: (purpose: string, plain: Redacted.Redacted) => Effect.Effect<Uint8Array>
    /** Dies when the value was sealed under another key or for another purpose: that is a broken installation. */
    readonly open: (purpose: string, sealed: Uint8Array) => Effect.Effect<Redacted.Redacted>
    /** 32 bytes; the same text for the same purpose always gives the same hash. A text that is in the clear already need not be wrapped. */
    readonly hash: (purpose: string, text: Redacted.Redacted | string) => Uint8Array
  }
>()("gateway/services/ports/Vault") {}

/** The hashes by which references lead to tenants, under the vault's key. A tenant's bucket never changes, and is hashed once. */
export const referenceHash = ({ hash }: Pick<Vault["Service"], "hash">): ReferenceHash => {
  const buckets = new Map<string, Uint8Array>()
  const bucketOf = (appId: string): Uint8Array => {
    const known = buckets.get(appId) ?? hash("tenant_bucket", appId)
    buckets.set(appId, known)
    return known
  }
  return (purpose, text) => (purpose === "tenant_bucket" ? bucketOf(text) : hash(purpose, text))
}

/** The purpose under which an account's number is hashed without its bank: records are found by it, and nothing else compares it. */
export const ACCOUNT_PURPOSE = "account"

/** As a member of a step that opens a record; nothing where the recipient has no account. */
export const accountHashOf = (
  destination: Destination,
  { hash }: Pick<Vault["Service"], "hash">
): { readonly accountHash?: Uint8Array } =>
  destination._tag === "bank" ? { accountHash: hash(ACCOUNT_PURPOSE, accountNumberIdentity(destination.accountNumber)) } : {}
