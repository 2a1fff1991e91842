import { constants, createPublicKey, type KeyObject, publicEncrypt } from "node:crypto"

/** A session key and its vector fit, and no provider has a shorter one. */
const LEAST_BITS = 1024

/** As providers write a public key of RSA: base64 of its SPKI, without a head and a foot. Undefined for any other text or key. */
export const publicKeyIn = (text: string): KeyObject | undefined => {
  try {
    const key = createPublicKey({ key: Buffer.from(text, "base64"), format: "der", type: "spki" })
    return key.asymmetricKeyType === "rsa" && (key.asymmetricKeyDetails?.modulusLength ?? 0) >= LEAST_BITS ? key : undefined
  } catch {
    return undefined
  }
}

/** How RSA pads what it encrypts. OAEP has the same hash for its mask as for its label. */
const paddings = {
  pkcs1: { padding: constants.RSA_PKCS1_PADDING },
  "oaep-sha1": { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha1" },
  "oaep-sha256": { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha256" }
} as const
export type Padding = keyof typeof paddings

/** In base64, and another text each time. */
export const encryptedUnder = (key: KeyObject, padding: Padding, text: string): string =>
  publicEncrypt({ key, ...paddings[padding] }, Buffer.from(text)).toString("base64")
