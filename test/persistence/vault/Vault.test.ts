import { describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { expect } from "vitest"
import { Vault } from "../../../src/services/ports/Vault.ts"
import { givenDatabase, givenNode, masterKey } from "../../support/TestDatabase.ts"

const OneNode = Layer.effectContext(Effect.flatMap(givenDatabase, (url) => givenNode(url)))
const text = (value: string) => Redacted.make(value)

it.layer(OneNode)("the vault", (it) => {
  it.effect.prop("opens what it sealed, for the same purpose", [Schema.String, Schema.String], ([purpose, secret]) =>
    Effect.gen(function* () {
      const vault = yield* Vault
      // UTF-8 has no lone surrogates.
      const opened = yield* vault.open(purpose, yield* vault.seal(purpose, text(secret)))
      expect(Redacted.value(opened)).toBe(secret.toWellFormed())
    })
  )

  it.effect("seals the same text differently each time, and never in plain text", () =>
    Effect.gen(function* () {
      const vault = yield* Vault
      const first = yield* vault.seal("test", text("+256700000001"))
      const second = yield* vault.seal("test", text("+256700000001"))
      expect(Buffer.from(first).equals(second)).toBe(false)
      expect(Buffer.from(first).toString("latin1")).not.toContain("256700000001")
    })
  )

  it.effect("does not open a value for another purpose, a changed one, or a short one", () =>
    Effect.gen(function* () {
      const vault = yield* Vault
      const value = yield* vault.seal("signing_secret a/1", text("secret"))
      const changed = Uint8Array.from(value, (byte, index) => (index === value.length - 1 ? byte ^ 1 : byte))
      for (const open of [
        vault.open("signing_secret b/1", value),
        vault.open("signing_secret a/1", changed),
        vault.open("signing_secret a/1", value.subarray(0, 20))
      ]) {
        const exit = yield* Effect.exit(open)
        expect(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "opened").toContain(
          "does not open: it is damaged, of another master key or purpose"
        )
      }
    })
  )

  it.effect("hashes by purpose and text", () =>
    Effect.gen(function* () {
      const vault = yield* Vault
      expect(vault.hash("a", text("1"))).toEqual(vault.hash("a", text("1")))
      expect(vault.hash("a", text("1"))).not.toEqual(vault.hash("b", text("1")))
      expect(vault.hash("a", text("1"))).not.toEqual(vault.hash("a", text("2")))
      expect(vault.hash("a", text("1"))).toHaveLength(32)
    })
  )
})

describe("the vault's keys", () => {
  it.effect("are the same on nodes that start together on an empty database", () =>
    Effect.gen(function* () {
      const url = yield* givenDatabase
      const nodes = yield* Effect.all([givenNode(url), givenNode(url), givenNode(url)], { concurrency: 3 })
      const hashes = nodes.map((node) => Buffer.from(Context.get(node, Vault).hash("a", text("1"))).toString("hex"))
      expect(new Set(hashes).size).toBe(1)
    })
  )

  it.effect("do not open under another master key, which is reported in one line", () =>
    Effect.gen(function* () {
      const url = yield* givenDatabase
      yield* givenNode(url)
      const error = yield* Effect.flip(givenNode(url, Redacted.make(Buffer.alloc(32, 8).toString("base64"))))
      expect(error).toMatchObject({ _tag: "VaultError", message: "MASTER_KEY is not the key that this database was sealed with" })
      const short = yield* Effect.flip(givenNode(url, Redacted.make("c2hvcnQ=")))
      expect(short.message).toBe("MASTER_KEY must be 32 bytes in base64")
    })
  )

  it.effect("are sealed where they are stored", () =>
    Effect.gen(function* () {
      const node = yield* Effect.flatMap(givenDatabase, (url) => givenNode(url, masterKey))
      const rows = yield* Context.get(node, SqlClient.SqlClient)`SELECT purpose, octet_length(sealed) AS bytes FROM vault_keys`
      expect(rows).toEqual([{ purpose: "hash_and_audit_key", bytes: 1 + 12 + 16 + 32 }])
    })
  )
})
