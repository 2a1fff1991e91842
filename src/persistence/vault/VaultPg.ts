import { Effect, Layer, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Vault } from "../../services/ports/Vault.ts"
import { keyedHashWith, loadHashKey } from "./HashKey.ts"
import { openBytes, parseMasterKey, sealBytes, type VaultError } from "./Sealing.ts"

/** Vault on PostgreSQL. It owns vault_keys. The hash key is created once, under the lock of the audit log's head (HashKey). */
export const VaultPg = {
  /** `masterKey` is 32 bytes in base64. Building it fails with one clear line when the database was sealed under another master key. */
  layer: (masterKey: Redacted.Redacted): Layer.Layer<Vault, VaultError, SqlClient.SqlClient> =>
    Layer.effect(Vault, make(masterKey))
}

const make = Effect.fnUntraced(function* (masterKey: Redacted.Redacted) {
  const sql = yield* SqlClient.SqlClient
  const master = yield* parseMasterKey(masterKey)
  const hashKey = yield* loadHashKey(sql, master)

  const seal = (purpose: string, plain: Redacted.Redacted): Effect.Effect<Uint8Array> =>
    Effect.sync(() => sealBytes(master, purpose, Buffer.from(Redacted.value(plain), "utf8")))

  const open = (purpose: string, value: Uint8Array): Effect.Effect<Redacted.Redacted> =>
    Effect.suspend(() =>
      Option.match(openBytes(master, purpose, value), {
        onNone: () =>
          Effect.die(new Error(`a value sealed for "${purpose}" does not open: it is damaged, of another master key or purpose`)),
        onSome: (plain) => Effect.succeed(Redacted.make(plain.toString("utf8")))
      })
    )

  return Vault.of({
    seal,
    open,
    hash: keyedHashWith(hashKey)
  })
})
