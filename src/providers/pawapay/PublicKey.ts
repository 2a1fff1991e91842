import { createPublicKey, type KeyObject } from "node:crypto"
import { Option } from "effect"

/** An elliptic key of the curve P-256 as PEM, or as the base64 within it; undefined for everything else. */
export const publicKeyOf = (text: string): KeyObject | undefined => {
  const inner = text.replaceAll("\\n", "\n").replace(/-----(BEGIN|END) PUBLIC KEY-----/g, "")
  const key = Option.getOrUndefined(read(Buffer.from(inner, "base64")))
  return key?.asymmetricKeyDetails?.namedCurve === "prime256v1" ? key : undefined
}

const read = Option.liftThrowable((der: Buffer) => createPublicKey({ key: der, format: "der", type: "spki" }))
