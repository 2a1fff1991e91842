import { createHash } from "node:crypto"

const VARIANT = ["8", "9", "a", "b"]

/** A UUID in the form of version 4 that follows from our reference alone, so that our reference is enough to poll. */
export const uuidOf = (text: string): string => {
  const hex = createHash("sha256").update(text).digest("hex")
  const variant = VARIANT[Number.parseInt(hex.charAt(16), 16) % VARIANT.length]
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
