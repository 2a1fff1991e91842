import { Option } from "effect"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  canonicalQuery,
  isInSignatureWindow,
  parseKeyHeader,
  parseSignature,
  queryParameters,
  stringToSign
} from "../../src/domain/StringToSign.ts"

const window = { maxAgeSeconds: 120, maxAheadSeconds: 30 }

describe("the text to sign", () => {
  it("accepts a timestamp from 120 seconds old to 30 seconds ahead, both edges included", () => {
    const at = (seconds: number) => isInSignatureWindow(String(1_795_000_000 + seconds), 1_795_000_000_999, window)
    expect([-121, -120, 0, 30, 31].map(at)).toEqual([false, true, true, true, false])
  })

  it("accepts only Unix seconds as a timestamp", () => {
    for (const text of ["", "+1795000000", "-1", "1795000000.0", "1e9", " 1795000000", "0x6AFD2A00"])
      expect(isInSignatureWindow(text, 1_795_000_000_000, window)).toBe(false)
  })

  it("accepts a key of exactly three parts", () => {
    expect(parseKeyHeader("acme.k_1.ak_1")).toEqual(Option.some({ appId: "acme", keyId: "k_1", apiKey: "ak_1" }))
    for (const text of ["", "acme", "acme.k_1", "acme.k_1.", ".k_1.ak_1", "acme..ak_1", "acme.k_1.ak_1.x", "ACME.k_1.ak_1"]) {
      expect(parseKeyHeader(text)).toEqual(Option.none())
    }
  })

  it("accepts a signature of exactly v1= and 64 hexadecimal digits in lower case", () => {
    const digits = "0123456789abcdef".repeat(4)
    expect(parseSignature(`v1=${digits}`)).toEqual(Option.some(digits))
    for (const text of [
      digits,
      `v1=${digits}0`,
      `v1=${digits.slice(1)}`,
      `v0=${digits}`,
      `a,v1=${digits}`,
      `V1=${digits.toUpperCase()}`
    ])
      expect(parseSignature(text)).toEqual(Option.none())
  })

  it("refuses a bad escape, half a character, and an absolute URL as target", () => {
    for (const query of ["q=%", "q=%2", "q=%zz", "%zz=q", "q=%ff", "q=%ed%a0%80"])
      expect(canonicalQuery(query)).toEqual(Option.none())
    const fields = { appId: "a", keyId: "k", host: "h", method: "GET", timestamp: "1", nonce: "n", bodyHash: "" }
    for (const target of ["http://h/v1/float", "*", "h:80", ""])
      expect(stringToSign({ ...fields, target })).toEqual(Option.none())
  })

  it("keeps a second question mark in the query", () => expect(canonicalQuery("a=?&b")).toEqual(Option.some("a=%3F&b=")))
})

describe("the canonical query", () => {
  const pair = fc.tuple(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" }))
  const written = ([key, value]: readonly [string, string]): string => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`

  it("is the same for every order of the same parameters", () => {
    fc.assert(
      fc.property(fc.array(pair, { maxLength: 8 }), (pairs) => {
        const query = pairs.map(written)
        expect(canonicalQuery(query.join("&"))).toEqual(canonicalQuery(query.toReversed().join("&")))
      })
    )
  })

  it("is not changed by canonicalising it again", () => {
    fc.assert(
      fc.property(fc.array(pair, { maxLength: 8 }), (pairs) => {
        const once = Option.getOrThrow(canonicalQuery(pairs.map(written).join("&")))
        expect(canonicalQuery(once)).toEqual(Option.some(once))
      })
    )
  })

  it("has the parameters that an endpoint reads, and no others: a query with another meaning has another signature", () => {
    const raw = fc.string({ unit: fc.constantFrom("a", "b", "+", "%2B", "%20", "=", "&", "%26", "?", "%C3%A9") })
    const sorted = (query: string) =>
      Option.map(queryParameters(query), (all) => all.map((one) => JSON.stringify(one)).toSorted())
    fc.assert(
      fc.property(raw, raw, (one, other) => {
        expect(sorted(Option.getOrThrow(canonicalQuery(one)))).toEqual(sorted(one))
        const hasOneSignature = Option.getOrThrow(canonicalQuery(one)) === Option.getOrThrow(canonicalQuery(other))
        expect(JSON.stringify(Option.getOrThrow(sorted(one))) === JSON.stringify(Option.getOrThrow(sorted(other)))).toBe(
          hasOneSignature
        )
      })
    )
    expect(queryParameters("order+7=a+b")).toEqual(Option.some([["order+7", "a+b"]]))
  })

  it("keeps every parameter whole, duplicates included", () => {
    fc.assert(
      fc.property(fc.array(pair, { maxLength: 8 }), (pairs) => {
        const canonical = Option.getOrThrow(canonicalQuery(pairs.map(written).join("&")))
        const read = canonical === "" ? [] : canonical.split("&").map((part) => part.split("=").map(decodeURIComponent))
        expect(read.map(String).toSorted()).toEqual(pairs.map(String).toSorted())
      })
    )
  })
})
