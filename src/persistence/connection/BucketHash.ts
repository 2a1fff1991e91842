import { Redacted } from "effect"
import type { BucketHash } from "../../domain/ReferenceBucket.ts"
import type { Vault } from "../../services/ports/Vault.ts"

/** The hashes by which references lead to tenants, under the vault's key. */
export const bucketHash =
  ({ hash }: Pick<Vault["Service"], "hash">): BucketHash =>
  (purpose, text) =>
    hash(purpose, Redacted.make(text))
