import { createHmac, createSecretKey, hash, type KeyObject, randomBytes } from "node:crypto"
import { Effect, Option, Redacted, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { rowsOf } from "../connection/Rows.ts"
import { HeadRow, headMac, type KeyedHash } from "./AuditChain.ts"
import { KEY_BYTES, openBytes, sealBytes, VaultError } from "./Sealing.ts"

/**
 * Because it is sealed for this purpose, the key itself proves that it keys the audit log too. An attacker with write access to
 * the database but without the master key cannot change that. Without this key no tenant's API key is recognised, so it cannot
 * be removed unnoticed.
 */
const HASHES_AND_AUDIT = "hash_and_audit_key"

const keys = rowsOf(Schema.Struct({ sealed: Schema.Uint8Array }))
const sealedKeys = rowsOf(Schema.Struct({ purpose: Schema.String, sealed: Schema.Uint8Array }))
const heads = rowsOf(HeadRow)
const uses = rowsOf(Schema.Struct({ used: Schema.Boolean }))

/**
 * HMAC-SHA256 under the key. No purpose contains a NUL, so no two pairs of purpose and text give the same input. A payout
 * hashes about twenty short texts: computing RFC 2104 directly, by two hashes over prepared blocks, takes half the time of
 * creating an object for each, and creates no garbage.
 */
export const keyedHashWith = (key: KeyObject): KeyedHash => {
  const [inner, outer] = [blockOf(key, 0x36, LONGEST_BYTES), blockOf(key, 0x5c, KEY_BYTES)]
  return (purpose, text) => {
    const input = `${purpose}\0${typeof text === "string" ? text : Redacted.value(text)}`
    if (input.length * BYTES_A_UNIT > LONGEST_BYTES)
      return new Uint8Array(createHmac("sha256", key).update(input, "utf8").digest())
    const end = BLOCK_BYTES + inner.write(input, BLOCK_BYTES)
    outer.write(hash("sha256", inner.subarray(0, end), "binary"), BLOCK_BYTES, "binary")
    inner.fill(0, BLOCK_BYTES, end)
    return new Uint8Array(Buffer.from(hash("sha256", outer, "binary"), "binary"))
  }
}

const BLOCK_BYTES = 64
/** The longest text; longer ones are seldom hashed. */
const LONGEST_BYTES = 3 * 1024
/** The most bytes of one UTF-16 unit in UTF-8. */
const BYTES_A_UNIT = 3

/** The key's block, with room after it. A key longer than a block would have to be hashed first; ours is half a block. */
const blockOf = (key: KeyObject, pad: number, room: number): Buffer => {
  if ((key.symmetricKeySize ?? 0) > BLOCK_BYTES) throw new Error("the key is longer than a block")
  const block = Buffer.alloc(BLOCK_BYTES + room)
  key.export().copy(block)
  for (let at = 0; at < BLOCK_BYTES; at++) block[at] = (block[at] ?? 0) ^ pad
  return block
}

/**
 * The key of every keyed hash and of the audit log, created on the first start. Of nodes that start together one creates it,
 * and the others read it. It is never created again once something was hashed with one.
 */
export const loadHashKey = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, master: KeyObject) {
  const [kept] = yield* readKey(sql)
  if (kept !== undefined) return yield* openKey(master, kept.sealed)
  return yield* createKey(sql, master).pipe(
    (effect) => sql.withTransaction(effect),
    Effect.catchTag("SqlError", (error) => Effect.die(error))
  )
})

/** Whether a master key opens every key in this database. */
export const opensEveryKey = (sql: SqlClient.SqlClient, master: KeyObject): Effect.Effect<boolean> =>
  Effect.map(sealedKeys(sql`SELECT purpose, sealed FROM vault_keys`), (rows) =>
    rows.every((row) => Option.isSome(openBytes(master, row.purpose, row.sealed)))
  )

const createKey = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, master: KeyObject) {
  const [head] = yield* heads(sql`SELECT sequence, hash, mac FROM audit_head_locked()`)
  if (head === undefined) return yield* new VaultError("the head of the audit log is gone: restore the database")
  // Another node was first.
  const [kept] = yield* readKey(sql)
  if (kept !== undefined) return yield* openKey(master, kept.sealed)
  if (head.mac !== null || (yield* hasHashes(sql))) return yield* new VaultError(GONE)
  const key = createSecretKey(randomBytes(KEY_BYTES))
  yield* sql`SELECT key_audit_head(${headMac(keyedHashWith(key), head)}, ${HASHES_AND_AUDIT}, ${sealBytes(master, HASHES_AND_AUDIT, key.export())})`
  return key
})

const GONE =
  "the key of the database's hashes is gone from vault_keys: without it no tenant's key is known; restore the table from a backup"

const readKey = (sql: SqlClient.SqlClient) => keys(sql`SELECT sealed FROM vault_keys WHERE purpose = ${HASHES_AND_AUDIT}`)

/** Whether anything exists that depends on the key. */
const hasHashes = (sql: SqlClient.SqlClient) =>
  Effect.map(
    uses(sql`SELECT EXISTS (SELECT 1 FROM api_keys) OR EXISTS (SELECT 1 FROM audit_log) AS used`),
    ([row]) => row?.used === true
  )

const openKey = (master: KeyObject, value: Uint8Array) =>
  Option.match(openBytes(master, HASHES_AND_AUDIT, value), {
    onNone: () => new VaultError("MASTER_KEY is not the key that this database was sealed with"),
    onSome: (bytes) => Effect.succeed(createSecretKey(bytes))
  })
