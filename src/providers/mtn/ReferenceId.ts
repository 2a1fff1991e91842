import { createHash } from "node:crypto"
import type { Reference } from "../../domain/Ids.ts"

/**
 * The X-Reference-Id of a transaction: a UUID of version 4 in form, and always the same one for one reference, so that an outcome can be
 * asked for by whoever knows the reference.
 */
export const referenceIdOf = (reference: Reference): string => {
  const hex = createHash("sha256").update(`mtn:${reference}`).digest("hex")
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
