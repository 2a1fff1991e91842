import { ALPHABET, Reference, referenceFrom } from "./Ids.ts"
import { json } from "./Json.ts"
import type { IdempotencyScope } from "./RequestFingerprint.ts"

/**
 * A reference identifies its tenant, so that a database which is sharded by tenant need not query every shard. Tenants are
 * spread over buckets by a hash of their name. The first characters of a reference are its tenant's bucket, masked by a hash of
 * its other characters. Both hashes are keyed: without the key, all characters of a reference look random, and two references
 * of one tenant have nothing in common.
 */
const BUCKET_CHARACTERS = 4
const BITS_A_CHARACTER = 5
const BUCKETS = 2 ** (BUCKET_CHARACTERS * BITS_A_CHARACTER)

/** The keyed hash of a text, 32 bytes; `purpose` separates the domains. */
export type ReferenceHash = (purpose: "tenant_bucket" | "reference_mask" | "reference", text: string) => Uint8Array

/**
 * The reference of the transaction that an idempotency key creates. The same key always gives the same reference, so that a
 * repeat that the database has forgotten reaches the provider under the reference that the provider knows. `earlier` is the
 * number of transactions that the key created before and that were pruned.
 */
export const referenceOfKey = (hash: ReferenceHash, scope: IdempotencyScope, earlier: number): Reference => {
  const { appId, endpoint, key, mode } = scope
  const bytes = hash("reference", json([appId, mode, endpoint, key, earlier]))
  return referenceInBucket(hash, referenceFrom(bytes), bucketOfTenant(hash, appId))
}

export const bucketOfTenant = (hash: ReferenceHash, appId: string): number => twentyBits(hash("tenant_bucket", appId))

/** A random-looking reference in this bucket; 110 of its 130 bits stay random. */
export const referenceInBucket = (hash: ReferenceHash, random: Reference, bucket: number): Reference => {
  const rest = random.slice(BUCKET_CHARACTERS)
  return Reference.make(charactersOf(bucket ^ maskOf(hash, rest)) + rest)
}

/** The bucket of the tenant of this reference, if `referenceInBucket` made it; otherwise an arbitrary bucket. */
export const bucketOfReference = (hash: ReferenceHash, reference: Reference): number => {
  const masked = Array.from(reference.slice(0, BUCKET_CHARACTERS)).reduce((bits, one) => bits * 32 + ALPHABET.indexOf(one), 0)
  return masked ^ maskOf(hash, reference.slice(BUCKET_CHARACTERS))
}

const maskOf = (hash: ReferenceHash, rest: string): number => twentyBits(hash("reference_mask", rest))

const twentyBits = (hash: Uint8Array): number => new DataView(hash.buffer, hash.byteOffset, 4).getUint32(0) % BUCKETS

const charactersOf = (bits: number): string => {
  let text = ""
  for (let place = BUCKET_CHARACTERS - 1; place >= 0; place--) text += ALPHABET.charAt((bits >>> (place * BITS_A_CHARACTER)) & 31)
  return text
}
