import { constants, createPublicKey, type KeyObject, publicEncrypt } from "node:crypto"

/** Large enough for a session key and its vector; no provider has a shorter key. */
const LEAST_BITS = 1024

/** An RSA public key from the base64 of its SPKI, without PEM lines, as providers publish it. Undefined for any other. */
export const publicKeyIn = (text: string): KeyObject | undefined => {
  try {
    const key = createPublicKey({ key: Buffer.from(text, "base64"), format: "der", type: "spki" })
    return key.asymmetricKeyType === "rsa" && (key.asymmetricKeyDetails?.modulusLength ?? 0) >= LEAST_BITS ? key : undefined
  } catch {
    return undefined
  }
}

/** RSA padding schemes. OAEP uses the same hash for its mask and its label. */
const paddings = {
  pkcs1: { padding: constants.RSA_PKCS1_PADDING },
  "oaep-sha1": { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha1" },
  "oaep-sha256": { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha256" }
} as const
export type Padding = keyof typeof paddings

/** In base64; the result differs each time. */
export const encryptedUnder = (key: KeyObject, padding: Padding, text: string): string =>
  publicEncrypt({ key, ...paddings[padding] }, Buffer.from(text)).toString("base64")
