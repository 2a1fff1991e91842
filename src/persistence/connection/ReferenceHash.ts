import { Redacted } from "effect"
import type { ReferenceHash } from "../../domain/ReferenceBucket.ts"
import type { Vault } from "../../services/ports/Vault.ts"

/** The hashes by which references lead to tenants, under the vault's key. */
export const referenceHash =
  ({ hash }: Pick<Vault["Service"], "hash">): ReferenceHash =>
  (purpose, text) =>
    hash(purpose, Redacted.make(text))
