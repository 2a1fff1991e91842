import { createHmac, createSecretKey, type KeyObject, randomBytes } from "node:crypto"
import { Effect, Layer, Option, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Destination } from "../domain/Party.ts"
import { Vault } from "../services/ports/Vault.ts"
import { rowsOf } from "./Rows.ts"
import { KEY_BYTES, masterOf, opened, sealed } from "./Sealing.ts"
import { VaultError } from "./VaultError.ts"

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
      new Uint8Array(
        createHmac("sha256", hashKey)
          .update(`${purpose}\0${Redacted.value(text)}`, "utf8")
          .digest()
      )
  })
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
