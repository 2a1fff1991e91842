import { createHmac, createSecretKey } from "node:crypto"
import { Redacted } from "effect"
import { describe, expect, it } from "vitest"
import { keyedHashWith } from "../../../src/persistence/vault/HashKey.ts"

const bytes = Buffer.alloc(32, "a key of a database")
const hashed = keyedHashWith(createSecretKey(bytes))

/** As the platform has it. */
const hmac = (purpose: string, text: string): Uint8Array =>
  new Uint8Array(createHmac("sha256", bytes).update(`${purpose}\0${text}`, "utf8").digest())

const texts = [0, 1, 54, 55, 56, 63, 64, 65, 119, 120, 1_000, 1_019, 1_020, 1_021, 3_000, 70_000].flatMap((length) => [
  "7".repeat(length),
  "é€😀".repeat(length)
])

describe("the keyed hash", () => {
  it("is HMAC-SHA256 of the purpose, a NUL and the text, whatever its length and its characters", () => {
    for (const text of texts) expect(hashed("party", text)).toStrictEqual(hmac("party", text))
  })

  it("of a text does not depend on the texts before it", () => {
    const first = hashed("party", "256771234567")
    for (const text of texts) hashed("denial destination", text)
    expect(hashed("party", Redacted.make("256771234567"))).toStrictEqual(first)
  })

  it("is another one for each purpose", () => {
    expect(hashed("party", "256771234567")).not.toStrictEqual(hashed("api_key", "256771234567"))
  })
})
