import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from "node:crypto"
import { Effect, Option, Redacted } from "effect"
import { MessageError } from "../../runtime/MessageError.ts"

/** One line for the person who starts the gateway: the master key does not belong to this database. */
export class VaultError extends MessageError("VaultError") {}

const CIPHER = "aes-256-gcm"
export const KEY_BYTES = 32
/** With random nonces of this length, a key may seal 2^32 values: more than will ever be sealed. */
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** The first byte of a sealed value is its format; then follow nonce, tag and cipher text. */
const FORMAT = 1
const HEAD_BYTES = 1 + NONCE_BYTES + TAG_BYTES

/** 32 bytes in base64. */
export const parseMasterKey = Effect.fnUntraced(function* (masterKey: Redacted.Redacted) {
  const bytes = Buffer.from(Redacted.value(masterKey), "base64")
  if (bytes.length !== KEY_BYTES) return yield* new VaultError(`MASTER_KEY must be ${KEY_BYTES} bytes in base64`)
  return createSecretKey(bytes)
})

export const sealBytes = (key: KeyObject, purpose: string, plain: Uint8Array): Uint8Array => {
  // Never from a read-ahead supply: a machine that is resumed twice from one memory image would use a nonce twice.
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(contextOf(purpose))
  const text = Buffer.concat([cipher.update(plain), cipher.final()])
  return new Uint8Array(Buffer.concat([Uint8Array.of(FORMAT), nonce, cipher.getAuthTag(), text]))
}

/** None when the value was sealed under another key or for another purpose, or is damaged. */
export const openBytes = (key: KeyObject, purpose: string, value: Uint8Array): Option.Option<Buffer> => {
  if (value.length < HEAD_BYTES || value[0] !== FORMAT) return Option.none()
  const decipher = createDecipheriv(CIPHER, key, value.subarray(1, 1 + NONCE_BYTES), { authTagLength: TAG_BYTES })
    .setAAD(contextOf(purpose))
    .setAuthTag(value.subarray(1 + NONCE_BYTES, HEAD_BYTES))
  const head = decipher.update(value.subarray(HEAD_BYTES))
  return Option.map(
    finalOf(() => decipher.final()),
    (rest) => Buffer.concat([head, rest])
  )
}

/** `final` throws when the tag does not match. */
const finalOf = Option.liftThrowable((final: () => Buffer) => final())

/** Authenticated with the value, so that it opens only for the purpose and in the format for which it was sealed. */
const contextOf = (purpose: string): Uint8Array => Buffer.from(`gateway vault ${FORMAT}\0${purpose}`, "utf8")
