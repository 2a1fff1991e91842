import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { looksLikeCard } from "../../src/domain/CardNumber.ts"

/** Digits with the check digit that makes them a card's number, by adding every other one twice. */
const withCheckDigit = (digits: string): string => {
  const sum = Array.from(digits, Number)
    .toReversed()
    .reduce((total, digit, at) => total + (at % 2 === 1 ? digit : Math.trunc((digit * 2) / 10) + ((digit * 2) % 10)), 0)
  return `${digits}${(10 - (sum % 10)) % 10}`
}
const digits = (least: number, most: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: least, maxLength: most }).map((all) => all.join(""))

describe("a text is taken for a card's number", () => {
  it.each([
    "4242424242424242",
    "4242 4242 4242 4242",
    "4242-4242-4242-4242",
    "4242.4242.4242.4242",
    "378282246310005",
    "4222222222222"
  ])("where it is one, however it is grouped: %s", (text) => expect(looksLikeCard(text)).toBe(true))

  it.each([
    ["its check digit is wrong", "4242424242424241"],
    ["two of its digits changed places", "4224424242424242"],
    ["other signs are between the digits", "4242_4242_4242_4242"],
    ["a letter is before it", "x4242424242424242"],
    ["a letter is after it", "4242424242424242x"],
    ["it is empty", ""]
  ])("and not where %s", (_, text) => expect(looksLikeCard(text)).toBe(false))

  it("with 13 to 19 digits, and with every check digit but one it is none", () =>
    fc.assert(
      fc.property(digits(12, 18), fc.integer({ min: 1, max: 9 }), (given, off) => {
        const card = withCheckDigit(given)
        expect(looksLikeCard(card)).toBe(true)
        expect(looksLikeCard(`${given}${(Number(card.slice(-1)) + off) % 10}`)).toBe(false)
      })
    ))

  it("and never with fewer digits or more", () => {
    for (const length of [1, 5, 11, 19, 24]) expect(looksLikeCard(withCheckDigit("4".repeat(length))), String(length)).toBe(false)
  })
})
