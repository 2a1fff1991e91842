import { Option } from "effect"
import { describe, expect, it } from "vitest"
import { msisdnOf } from "../../src/domain/Msisdn.ts"

describe("a phone number", () => {
  it.each([
    ["256772123456", "UG"],
    ["+256772123456", "UG"],
    ["+256 772 123 456", "UG"],
    [" 256772123456 ", "UG"]
  ])("is read with its country's prefix, with or without a plus and spaces: %j", (text, country) => {
    expect(msisdnOf(text, country)).toStrictEqual(Option.some("+256772123456"))
  })

  it("may be in any country with that prefix", () => {
    expect(msisdnOf("+12025550123", "US")).toStrictEqual(Option.some("+12025550123"))
    expect(msisdnOf("+12025550123", "CA")).toStrictEqual(Option.some("+12025550123"))
  })

  it.each([
    ["the prefix of another country", "254712345678", "UG"],
    ["no prefix", "0772123456", "UG"],
    ["too few digits", "2567721234", "UG"],
    ["too many digits", "2567721234567", "UG"],
    ["other signs in it", "256-772-123456", "UG"],
    ["letters before it", "x256772123456", "UG"],
    ["letters behind it", "256772123456x", "UG"],
    ["two pluses", "++256772123456", "UG"],
    ["digits of another script", "٢٥٦٧٧٢١٢٣٤٥٦", "UG"],
    ["nothing in it", "", "UG"],
    ["a plus alone", "+", "UG"],
    ["an unknown country", "256772123456", "XX"],
    ["a country in small letters", "256772123456", "ug"],
    ["one digit", "2", "UG"]
  ])("is none with %s", (_, text, country) => {
    expect(msisdnOf(text, country)).toStrictEqual(Option.none())
  })

  it("is at most 32 characters long as it is written", () => {
    const spaced = (length: number) => "256772123456".padEnd(length, " ")
    expect(Option.isSome(msisdnOf(spaced(32), "UG"))).toBe(true)
    expect(msisdnOf(spaced(33), "UG")).toStrictEqual(Option.none())
  })
})
