import { Result } from "effect"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { DEEPEST, parseStrict, withNumbers } from "../../../src/http/json/StrictJson.ts"

const parse = (text: string | Uint8Array) => parseStrict(typeof text === "string" ? Buffer.from(text) : text)
const failure = (text: string | Uint8Array) => Result.getOrThrow(Result.flip(parse(text)))
const depthOf = (value: unknown): number =>
  typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0

describe("strict JSON", () => {
  it("accepts what JSON.parse accepts", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(undefined, 1, "\t"), (value, indent) => {
        const text = JSON.stringify(value, null, indent)
        expect(Result.map(parse(text), withNumbers)).toEqual(Result.succeed(JSON.parse(text)))
      }),
      { numRuns: 500 }
    )
  })

  it("refuses every text that JSON.parse refuses, and accepts nothing more", () => {
    const pieces = fc.array(
      fc.constantFrom(
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        '"a"',
        '"b"',
        "1",
        "-",
        "0",
        ".5",
        "e3",
        "true",
        "null",
        " ",
        "\\",
        '"',
        "\n"
      ),
      { maxLength: 9 }
    )
    fc.assert(
      fc.property(pieces, (parts) => {
        const text = parts.join("")
        const known = Result.try(() => JSON.parse(text))
        const strict = Result.map(parse(text), withNumbers)
        if (Result.isFailure(strict) && strict.failure.includes("twice")) return
        expect(Result.isSuccess(strict)).toBe(Result.isSuccess(known))
        if (Result.isSuccess(known)) expect(strict).toEqual(known)
      }),
      { numRuns: 5000 }
    )
  })

  it("writes every number again as it was written", () => {
    for (const number of [
      "0",
      "-0",
      "1.0",
      "1e3",
      "1E+400",
      "99.99999999999999999999",
      "9007199254740993",
      "0.025828573078999998"
    ]) {
      expect(JSON.stringify(Result.getOrThrow(parse(`{"n":[${number}]}`)))).toBe(`{"n":[${number}]}`)
    }
  })

  it("refuses a duplicate member, however its name is escaped", () => {
    for (const text of ['{"a":1,"a":1}', '{"a":{"b":1,"\\u0062":2}}', '{"__proto__":1,"__proto__":1}'])
      expect(failure(text)).toMatch("twice")
    expect(JSON.stringify(Result.getOrThrow(parse('{"__proto__":{"x":1},"constructor":2}')))).toBe(
      '{"__proto__":{"x":1},"constructor":2}'
    )
  })

  it("refuses more than 32 levels without a stack overflow", () => {
    const nested = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`
    expect(depthOf(Result.getOrThrow(parse(nested(DEEPEST))))).toBe(DEEPEST)
    for (const text of [nested(DEEPEST + 1), "[".repeat(65_536), '{"a":'.repeat(10_000)]) expect(failure(text)).toMatch("deeper")
  })

  it("refuses bytes that are not UTF-8, a byte order mark, and anything after the value", () => {
    expect(failure(Uint8Array.of(0x22, 0xff, 0x22))).toMatch("UTF-8")
    expect(failure(Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22))).toMatch("UTF-8")
    for (const text of [
      "",
      " ",
      "\ufeff{}",
      "{} {}",
      "{}x",
      '"\u0001"',
      '"\\x"',
      '"open',
      "01",
      "1.",
      "NaN",
      "[1,]",
      '{"a":1,}',
      "{a:1}"
    ])
      expect(failure(text)).toMatch("not JSON")
  })

  it("stays fast on a text that was made to be slow", () => {
    const hostile = `"${'\\"a'.repeat(21_000)}`
    expect(failure(hostile)).toMatch("not JSON")
    expect(failure(`[${`"${"a".repeat(60_000)}`}`)).toMatch("not JSON")
  })
})
