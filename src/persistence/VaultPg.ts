import { createCipheriv, createDecipheriv, createHmac, createSecretKey, type KeyObject, randomBytes } from "node:crypto"
import { Effect, Layer, Option, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Destination } from "../domain/Party.ts"
import { Vault } from "../services/ports/Vault.ts"
import { rowsOf } from "./Rows.ts"
import { VaultError } from "./VaultError.ts"

const CIPHER = "aes-256-gcm"
const KEY_BYTES = 32
/** Of random nonces of this length one key may use 2^32: more values than will ever be sealed. */
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** The first byte of a sealed value says how it was sealed; then come nonce, tag and cipher text. */
const FORMAT = 1
const HEAD_BYTES = 1 + NONCE_BYTES + TAG_BYTES
const HASH_KEY = "hash_key"
const DESTINATION = "destination"

const keys = rowsOf(Schema.Struct({ sealed: Schema.Uint8Array }))
const DestinationText = Schema.fromJsonString(Destination)
const encodeDestination = Schema.encodeEffect(DestinationText)
const decodeDestination = Schema.decodeEffect(DestinationText)

export const VaultPg = {
  /** `masterKey` is 32 bytes in base64. Building it fails with one clear line when the database was sealed under another master key. */
  layer: (masterKey: Redacted.Redacted): Layer.Layer<Vault, VaultError, SqlClient.SqlClient> =>
    Layer.effect(Vault, make(masterKey))
}

const make = Effect.fnUntraced(function* (masterKey: Redacted.Redacted) {
  const sql = yield* SqlClient.SqlClient
  const master = yield* masterOf(masterKey)
  const hashKey = yield* hashKeyOf(sql, master)

  const seal = (purpose: string, plain: Redacted.Redacted): Effect.Effect<Uint8Array> =>
    Effect.sync(() => sealed(master, purpose, Buffer.from(Redacted.value(plain), "utf8")))

  const open = (purpose: string, value: Uint8Array): Effect.Effect<Redacted.Redacted> =>
    Effect.suspend(() =>
      Option.match(opened(master, purpose, value), {
        onNone: () =>
          Effect.die(new Error(`a value sealed for "${purpose}" does not open: it is damaged, of another master key or purpose`)),
        onSome: (plain) => Effect.succeed(Redacted.make(plain.toString("utf8")))
      })
    )

  return Vault.of({
    seal,
    open,
    sealDestination: (destination) =>
      encodeDestination(destination).pipe(
        Effect.orDie,
        Effect.flatMap((text) => seal(DESTINATION, Redacted.make(text)))
      ),
    openDestination: (value) =>
      open(DESTINATION, value).pipe(Effect.flatMap((text) => Effect.orDie(decodeDestination(Redacted.value(text))))),
    hash: (purpose, text) =>
      // No purpose holds a NUL, so that no two pairs of purpose and text make the same input.
      Uint8Array.from(
        createHmac("sha256", hashKey)
          .update(`${purpose}\0${Redacted.value(text)}`, "utf8")
          .digest()
      )
  })
})

const masterOf = Effect.fnUntraced(function* (masterKey: Redacted.Redacted) {
  const bytes = Buffer.from(Redacted.value(masterKey), "base64")
  if (bytes.length !== KEY_BYTES) return yield* new VaultError({ message: `MASTER_KEY must be ${KEY_BYTES} bytes in base64` })
  return createSecretKey(bytes)
})

/** Made on the first start; of nodes that start together one wins, and the others read what it made. */
const hashKeyOf = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, master: KeyObject) {
  const read = keys(sql`SELECT sealed FROM vault_keys WHERE purpose = ${HASH_KEY}`)
  let [row] = yield* read
  if (row === undefined) {
    const made = sealed(master, HASH_KEY, randomBytes(KEY_BYTES))
    yield* sql`INSERT INTO vault_keys (purpose, sealed) VALUES (${HASH_KEY}, ${made}) ON CONFLICT (purpose) DO NOTHING`.pipe(
      Effect.orDie
    )
    ;[row] = yield* read
  }
  const key = row === undefined ? Option.none() : opened(master, HASH_KEY, row.sealed)
  if (Option.isNone(key)) {
    return yield* new VaultError({ message: "MASTER_KEY is not the key that this database was sealed with" })
  }
  return createSecretKey(key.value)
})

const sealed = (key: KeyObject, purpose: string, plain: Uint8Array): Uint8Array => {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(contextOf(purpose))
  const text = Buffer.concat([cipher.update(plain), cipher.final()])
  return Uint8Array.from(Buffer.concat([Uint8Array.of(FORMAT), nonce, cipher.getAuthTag(), text]))
}

const opened = (key: KeyObject, purpose: string, value: Uint8Array): Option.Option<Buffer> => {
  if (value.length < HEAD_BYTES || value[0] !== FORMAT) return Option.none()
  const decipher = createDecipheriv(CIPHER, key, value.subarray(1, 1 + NONCE_BYTES), { authTagLength: TAG_BYTES })
    .setAAD(contextOf(purpose))
    .setAuthTag(value.subarray(1 + NONCE_BYTES, HEAD_BYTES))
  const head = decipher.update(value.subarray(HEAD_BYTES))
  return Option.map(
    verified(() => decipher.final()),
    (rest) => Buffer.concat([head, rest])
  )
}

/** `final` throws where the tag does not fit. */
const verified = Option.liftThrowable((final: () => Buffer) => final())

/** Authenticated with the value, so that it opens only for the purpose and in the format that it was sealed for. */
const contextOf = (purpose: string): Uint8Array => Buffer.from(`gateway vault ${FORMAT}\0${purpose}`, "utf8")
