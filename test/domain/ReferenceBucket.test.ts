import { createHmac } from "node:crypto"
import { describe, expect, it } from "@effect/vitest"
import { ALPHABET, AppId, type Reference, referenceFrom } from "../../src/domain/Ids.ts"
import {
  bucketOfReference,
  bucketOfTenant,
  type ReferenceHash,
  referenceInBucket,
  referenceOfKey
} from "../../src/domain/ReferenceBucket.ts"

const keyed =
  (key: string): ReferenceHash =>
  (purpose, text) =>
    createHmac("sha256", key).update(`${purpose} ${text}`).digest()
const hash = keyed("one")

/** 26 bytes that depend on nothing but the number. */
const randomOf = (seed: number): Reference => referenceFrom(createHmac("sha256", "random").update(String(seed)).digest())
const referencesOf = (appId: string, count: number) =>
  Array.from({ length: count }, (_, at) => referenceInBucket(hash, randomOf(at), bucketOfTenant(hash, appId)))

const scopeOf = (key: string, appId = "acme") =>
  ({ appId: AppId.make(appId), mode: "live", endpoint: "POST /v1/payouts", key }) as const

const REFERENCES = 20_000
/** 31 degrees of freedom: one fair die of 32 faces in a million rolls a worse sum. */
const CHI_SQUARE_AT_MOST = 80

describe("references that lead to their tenant", () => {
  it("lead there in every release: what is hashed for them does not change", () => {
    const hashed: Array<string> = []
    bucketOfReference((purpose, text) => {
      hashed.push(`${purpose} ${text}`)
      return hash(purpose, text)
    }, randomOf(1))
    expect(hashed).toStrictEqual([`reference_mask ${randomOf(1).slice(4)}`])
  })

  it("leads from each reference to its tenant's bucket", () => {
    for (const appId of [AppId.make("acme"), AppId.make("a"), AppId.make("z".repeat(40))])
      for (const reference of referencesOf(appId, 50))
        expect(bucketOfReference(hash, reference)).toBe(bucketOfTenant(hash, appId))
  })

  it("shows nothing of the tenant: every character of one tenant's references looks random, and no two begin alike more often than by chance", () => {
    const references = referencesOf("acme", REFERENCES)
    for (let place = 0; place < 8; place++) {
      const seen = [...ALPHABET].map((one) => references.filter((reference) => reference.charAt(place) === one).length)
      const expected = REFERENCES / ALPHABET.length
      const chiSquare = seen.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
      expect(chiSquare).toBeLessThan(CHI_SQUARE_AT_MOST)
    }
    // 20,000 of 2^20 beginnings: some 190 pairs meet by chance.
    expect(REFERENCES - new Set(references.map((reference) => reference.slice(0, 4))).size).toBeLessThan(300)
  })

  it("keeps the tenant from whoever has another key", () => {
    const others = keyed("another")
    const found = referencesOf("acme", 1_000).filter((one) => bucketOfReference(others, one) === bucketOfTenant(others, "acme"))
    expect(found).toEqual([])
  })

  it("keeps 110 of the random bits", () => {
    expect(referencesOf("acme", 1).map((one) => one.slice(4))).toEqual([randomOf(0).slice(4)])
  })

  it("is as it has always been: the bucket of a name, and the beginning of a reference", () => {
    const fixed: ReferenceHash = (purpose) => Buffer.from(purpose === "tenant_bucket" ? "fff12345" : "00abcdef", "hex")
    expect(bucketOfTenant(fixed, "any")).toBe(0x12345)
    const made = referenceInBucket(fixed, randomOf(0), 0x12345)
    // 0x12345 and 0xbcdef differ in 0xaeeaa, which is 21, 27, 21 and 10 in base 32.
    expect(made).toBe(`NVNA${randomOf(0).slice(4)}`)
    expect(bucketOfReference(fixed, made)).toBe(0x12345)
  })

  it("is read from the bytes where they are", () => {
    const whole = Buffer.from("ffffffff00012345", "hex")
    expect(bucketOfTenant(() => whole.subarray(4), "any")).toBe(0x12345)
  })

  it("follows from the key: always the same, another one for each part and each earlier transaction, and led to its tenant", () => {
    const scope = scopeOf("order-1")
    const reference = referenceOfKey(hash, scope, 0)
    expect(referenceOfKey(hash, { ...scope }, 0)).toBe(reference)
    expect(bucketOfReference(hash, reference)).toBe(bucketOfTenant(hash, "acme"))
    const made = [
      reference,
      referenceOfKey(hash, scope, 1),
      referenceOfKey(hash, scopeOf("order-2"), 0),
      referenceOfKey(hash, scopeOf("order-1", "acm"), 0),
      referenceOfKey(hash, { ...scope, mode: "test" }, 0),
      referenceOfKey(hash, { ...scope, endpoint: "POST /v1/collections" }, 0),
      // What a key is made of cannot be taken for another part of it.
      referenceOfKey(hash, { ...scope, endpoint: 'POST /v1/payouts","order-1', key: "" }, 0),
      referenceOfKey(keyed("another"), scope, 0)
    ]
    expect(new Set(made).size).toBe(made.length)
    expect(new Set(made.map((one) => one.slice(4))).size).toBe(made.length)
  })

  it("is in every release what it was: what is hashed for the reference of a key does not change", () => {
    const hashed: Array<string> = []
    const heard: ReferenceHash = (purpose, text) => {
      hashed.push(`${purpose} ${text}`)
      return hash(purpose, text)
    }
    referenceOfKey(heard, scopeOf("order-1"), 2)
    expect(hashed[0]).toBe('reference ["acme","live","POST /v1/payouts","order-1",2]')
  })

  it("is as random of counted keys as of random bytes", () => {
    const references = Array.from({ length: REFERENCES }, (_, at) => referenceOfKey(hash, scopeOf(`order-${at}`), 0))
    expect(new Set(references.map((one) => one.slice(4))).size).toBe(REFERENCES)
    for (let place = 0; place < 26; place++) {
      const seen = [...ALPHABET].map((one) => references.filter((reference) => reference.charAt(place) === one).length)
      const expected = REFERENCES / ALPHABET.length
      expect(seen.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)).toBeLessThan(CHI_SQUARE_AT_MOST)
    }
  })
})
