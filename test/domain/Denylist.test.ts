import { describe, expect, it } from "vitest"
import { maskedEntry, normalizedName, normalizedNumber } from "../../src/domain/Denylist.ts"

describe("the denylist takes for one and the same", () => {
  it.each([
    ["+256 772-123456", "256772123456"],
    ["(256) 772.123.456", "256772123456"],
    [" 256772123456 ", "256772123456"],
    [" +256772123456", "256772123456"],
    ["+1234", "1234"],
    ["1234", "1234"],
    ["Jane@Example.com", "jane@example.com"],
    [" JaneDoe ", "janedoe"],
    ["A-12345", "a-12345"],
    ["12345-X", "12345-x"],
    ["++1234", "++1234"],
    ["123", "123"],
    ["1-2", "1-2"]
  ])("the spellings of a number, an account or a handle: %s is %s", (given, spelled) => {
    expect(normalizedNumber(given)).toBe(spelled)
  })

  it.each([
    ["Jane Doe", "doe jane"],
    ["DOE, Jane", "doe jane"],
    ["  José  Núñez-Abe ", "abe jose nunez"],
    ["Jane Doe 2nd", "2nd doe jane"],
    ["...", ""]
  ])("the spellings of a name: %s is %s", (given, spelled) => {
    expect(normalizedName(given)).toBe(spelled)
  })

  it("not two numbers or two names that differ", () => {
    expect(normalizedNumber("256772123456")).not.toBe(normalizedNumber("256772123457"))
    expect(normalizedName("Jane Doe")).not.toBe(normalizedName("Janedoe"))
    expect(normalizedName("Jane Doe")).not.toBe(normalizedName("Jane Jane Doe"))
  })
})

it("the denylist shows a name by its first letters, and anything else by its end in one spelling", () => {
  expect(maskedEntry("screened_name", "Jane Doe")).toBe("J••• D••")
  expect(maskedEntry("screened_number", "+256 772-12 34-56")).toBe("••••3456")
  expect(maskedEntry("destination", "+256 772-12 34-56")).toBe("••••3456")
})
