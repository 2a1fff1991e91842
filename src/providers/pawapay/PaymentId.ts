import { createHash } from "node:crypto"
import type { Reference } from "../../domain/Ids.ts"

const VARIANT = ["8", "9", "a", "b"]

/** pawaPay wants a UUID v4. It follows from our reference alone, so that whoever knows the one can ask for the other. */
export const paymentId = (reference: Reference): string => {
  const hex = createHash("sha256").update(`pawapay/${reference}`).digest("hex")
  const variant = VARIANT[Number.parseInt(hex.charAt(16), 16) % VARIANT.length]
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `${variant}${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    "-"
  )
}
