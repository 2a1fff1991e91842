import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { holdsCard } from "../../src/domain/CardNumber.ts"

/** Digits with the check digit that makes them a card's number, by adding every other one twice. */
const withCheckDigit = (digits: string): string => {
  const sum = Array.from(digits, Number)
    .toReversed()
    .reduce((total, digit, at) => total + (at % 2 === 1 ? digit : Math.trunc((digit * 2) / 10) + ((digit * 2) % 10)), 0)
  return `${digits}${(10 - (sum % 10)) % 10}`
}
const digits = (least: number, most: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: least, maxLength: most }).map((all) => all.join(""))

describe("a text holds a card's number", () => {
  it.each([
    "4242424242424242",
    "4242 4242 4242 4242",
    "4242-4242-4242-4242",
    "4242.4242.4242.4242",
    "378282246310005",
    "4222222222222"
  ])("where it is one, however it is grouped: %s", (text) => expect(holdsCard(text)).toBe(true))

  it.each([
    "card 4242424242424242",
    "4242 4242 4242 4242, valid to 12/28",
    "4242 4242 4242 4242 12 28",
    "12 28 4242-4242-4242-4242",
    "x4242424242424242x",
    "no. 20260115-4242424242424242",
    "pan=378282246310005;cvv=123",
    "42424242424242421228123",
    "4242\u00a04242\u20114242\u2009\u20094242",
    "42\u200b42424242424242",
    "４２４２４２４２４２４２４２４２",
    "4242\t4242\t4242\t4242",
    "No. 12\n4242424242424242",
    "4242\n4242\n4242\n4242"
  ])("where it is inside of it, whatever stands around: %s", (text) => expect(holdsCard(text)).toBe(true))

  it.each([
    ["its check digit is wrong", "4242424242424241"],
    ["two of its digits changed places", "4224424242424242"],
    ["other signs are between the digits", "4242_4242_4242_4242"],
    ["it is a part of a longer identifier", "4242424242424242123"],
    ["it holds a phone number and a date", "call 256772001234 on 2026-01-15 12:30"],
    ["it is empty", ""]
  ])("and not where %s", (_, text) => expect(holdsCard(text)).toBe(false))

  it("with 13 to 19 digits, and with every check digit but one it is none", () =>
    fc.assert(
      fc.property(digits(12, 18), fc.integer({ min: 1, max: 9 }), (given, off) => {
        const card = withCheckDigit(given)
        expect(holdsCard(card)).toBe(true)
        expect(holdsCard(`in ${card}.`)).toBe(true)
        expect(holdsCard(`${given}${(Number(card.slice(-1)) + off) % 10}`)).toBe(false)
      })
    ))

  it("and never with fewer digits", () => {
    for (const length of [1, 5, 11]) expect(holdsCard(withCheckDigit("4".repeat(length))), String(length)).toBe(false)
  })

  it("and is looked for in as many steps as the text is long", () => {
    expect(holdsCard("5 ".repeat(32_000))).toBe(false)
    expect(holdsCard("5".repeat(64_000))).toBe(false)
  })
})
