import { Result } from "effect"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { exponents, isCurrency } from "../../src/domain/Currency.ts"
import { json, parseExact, RawJson } from "../../src/domain/Json.ts"
import {
  fromDecimal,
  fromDecimalDown,
  fromDecimalUp,
  isBeyond,
  LARGEST_AMOUNT,
  minor,
  minusOrZero,
  nearestAmount,
  toDecimal
} from "../../src/domain/Money.ts"

const currencies = Object.keys(exponents).filter(isCurrency)
const anyCurrency = fc.constantFrom(...currencies)
const anyAmount = fc.bigInt({ min: 0n, max: LARGEST_AMOUNT }).map(minor)

describe("an amount of money", () => {
  it("is shown for a sum as it is within the range, as the nearest one outside, and nothing is written as 0 without a sign", () => {
    const largest = 9_007_199_254_740_991n
    const sums = [-(largest + 1n), -1n, 0n, 1n, largest - 1n, largest, largest + 1n]
    expect(sums.map(nearestAmount)).toStrictEqual([0n, 0n, 0n, 1n, largest - 1n, largest, largest])
    expect([toDecimal(0n, "UGX"), toDecimal(0n, "KES"), toDecimal(-1n, "KES")]).toStrictEqual(["0", "0.00", "-0.01"])
  })

  it("survives the way to a provider's decimal and back unchanged, for every currency and amount", () => {
    fc.assert(
      fc.property(anyCurrency, anyAmount, (currency, amount) => {
        expect(fromDecimal(toDecimal(amount, currency), currency)).toStrictEqual(Result.succeed(amount))
      })
    )
  })

  it("is written with its sign when it is below zero", () => {
    expect([toDecimal(-5n, "KES"), toDecimal(-12_050n, "KES"), toDecimal(-500n, "UGX")]).toEqual(["-0.05", "-120.50", "-500"])
  })

  it("is refused, not rounded, when a decimal is finer than the currency", () => {
    expect(fromDecimal("0.025828573078999998", "USD")).toStrictEqual(Result.fail("inexact"))
    expect(fromDecimal("1.5", "UGX")).toStrictEqual(Result.fail("inexact"))
    expect(fromDecimal("3200.00", "UGX")).toStrictEqual(Result.succeed(minor(3200n)))
  })

  it("is rounded up for a fee that is held, and down for an exchange that is booked", () => {
    expect(fromDecimalUp("0.291", "KES")).toStrictEqual(Result.succeed(minor(30n)))
    expect(fromDecimalUp("0.29", "KES")).toStrictEqual(Result.succeed(minor(29n)))
    expect(fromDecimalDown("3.1007201981367", "KES")).toStrictEqual(Result.succeed(minor(310n)))
    expect(fromDecimalUp("9007199254740990.5", "UGX")).toStrictEqual(Result.succeed(minor(LARGEST_AMOUNT)))
    expect(fromDecimalUp("9007199254740991.5", "UGX")).toStrictEqual(Result.fail("inexact"))
  })

  it.each(["", "1e3", "-1", "01", "1.", ".5", " 1", "1 ", "NaN", "0x10", "9007199254740992"])(
    "refuses %j as a decimal",
    (text) => {
      expect(fromDecimal(text, "UGX")).toStrictEqual(Result.fail("inexact"))
    }
  )

  it.each([
    ["3200", "KES", 320_000n],
    ["3200.5", "KES", 320_050n],
    ["3200.05", "KES", 320_005n],
    ["0.05", "KES", 5n],
    ["3200", "UGX", 3_200n]
  ] as const)("%s %s is read with the currency's decimals, however many of them are written", (text, currency, amount) => {
    for (const read of [fromDecimal, fromDecimalUp, fromDecimalDown])
      expect(read(text, currency)).toStrictEqual(Result.succeed(minor(amount)))
  })

  it("is recognised as too large, whatever the exponent of the decimal", () => {
    expect(isBeyond("9007199254740991.999", "UGX")).toBe(false)
    expect(isBeyond("9007199254740992", "UGX")).toBe(true)
    expect(isBeyond("90071992547409.91", "KES")).toBe(false)
    expect(isBeyond("90071992547409.92", "KES")).toBe(true)
    expect(isBeyond("90071992547409", "KES")).toBe(false)
    expect(isBeyond("90071992547410", "KES")).toBe(true)
    expect(isBeyond("no decimal", "KES")).toBe(false)
  })

  it("is never less than nothing, and never more than a JSON integer carries exactly", () => {
    expect(minor(LARGEST_AMOUNT)).toBe(9_007_199_254_740_991n)
    expect(() => minor(LARGEST_AMOUNT + 1n)).toThrow()
    expect(() => minor(-1n)).toThrow()
    expect(minusOrZero(minor(7n), minor(5n))).toBe(2n)
    expect(minusOrZero(minor(5n), minor(7n))).toBe(0n)
  })

  it("is written as a JSON integer of any size", () => {
    fc.assert(
      fc.property(anyAmount, (amount) => {
        expect(json({ amount_minor: amount })).toBe(`{"amount_minor":${amount}}`)
      })
    )
  })

  it("does not change the numbers in a tenant's metadata", () => {
    const text = '{"order":12345678901234567890,"b":1.10,"a":null}'
    expect(json({ metadata: new RawJson(text) })).toBe(`{"metadata":${text}}`)
  })

  it("is read from a provider's JSON to the digit, as the reader that asks for each number's text reads it", () => {
    const asked = (text: string) => JSON.parse(text, (_key, value, { source }) => (typeof value === "number" ? source : value))
    const number = fc.oneof(
      fc.constantFrom("-0", "1.10", "1e400", "-2.5E-3", "9007199254740993", "0.025828573078999998"),
      fc.integer().map(String)
    )
    const text = fc.letrec<{ readonly any: string }>((tie) => ({
      any: fc.oneof(
        { maxDepth: 4 },
        number,
        fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom('1"2\\', "-3", '\\"4')).map((one) => JSON.stringify(one)),
        fc.constantFrom("null", "true"),
        fc.array(tie("any"), { maxLength: 3 }).map((items) => `[${items.join(" , ")}]`),
        fc
          .array(fc.tuple(fc.string(), tie("any")))
          .map((all) => `{${all.map(([k, v]) => `${JSON.stringify(k)}: ${v}`).join(",")}}`)
      )
    })).any
    fc.assert(
      fc.property(text, (one) => {
        expect(parseExact(one)).toStrictEqual(asked(one))
      })
    )
    for (const broken of ["01", "{1:2}", '["1]', "1.", ""]) expect(() => parseExact(broken)).toThrow(SyntaxError)
  })
})
