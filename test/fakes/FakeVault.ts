import { createHmac } from "node:crypto"
import { Effect, Redacted } from "effect"
import { referenceFrom } from "../../src/domain/Ids.ts"
import { RandomSource } from "../../src/services/ports/RandomSource.ts"
import { Vault } from "../../src/services/ports/Vault.ts"
import { fake } from "./Fake.ts"

/** A keyed hash of a number or a key, as the fake vault makes it. */
export const fakeHash = (purpose: string, text: Redacted.Redacted | string): Uint8Array =>
  createHmac("sha256", "a key of the tests")
    .update(`${purpose}|${typeof text === "string" ? text : Redacted.value(text)}`)
    .digest()

const seal = (purpose: string, text: string): Uint8Array => Buffer.from(`${purpose}|${text}`)

const open = (purpose: string, sealed: Uint8Array): string => {
  const text = Buffer.from(sealed).toString()
  if (!text.startsWith(`${purpose}|`)) throw new Error(`this was not sealed for ${purpose}`)
  return text.slice(purpose.length + 1)
}

/** Vault without encryption: what is sealed is readable, but opens for its own purpose only. Hashes are keyed and repeatable. */
export const fakeVault = fake(Vault, {
  seal: (purpose, plain) => Effect.sync(() => seal(purpose, Redacted.value(plain))),
  open: (purpose, sealed) => Effect.sync(() => Redacted.make(open(purpose, sealed))),
  hash: fakeHash
})

const DIGITS = 26

/** A RandomSource that counts: the first reference ends in 1, and secrets are zeros. */
export const fakeRandomSource = () => {
  let made = 0
  return fake(RandomSource, {
    reference: Effect.sync(() => {
      made++
      return referenceFrom(Uint8Array.from({ length: DIGITS }, (_, place) => (made / 32 ** (DIGITS - 1 - place)) & 31))
    }),
    secret: (bytes) => Effect.succeed(new Uint8Array(bytes))
  })
}
