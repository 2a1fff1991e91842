import { createHmac, hash } from "node:crypto"
import { Redacted } from "effect"

/** The HMAC-SHA256 of a signed text under a tenant's signing secret: 32 bytes. */
export const signature = (secret: Redacted.Redacted<string | Uint8Array>, text: string): Uint8Array =>
  createHmac("sha256", Redacted.value(secret)).update(text).digest()

/** SHA-256 of a raw body in lower-case hex, as in the signed text. */
export const bodyHash = (body: Uint8Array): string => (body.length === 0 ? EMPTY : hash("sha256", body, "hex"))

const EMPTY = hash("sha256", "", "hex")
