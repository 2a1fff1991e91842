import { Redacted } from "effect"
import { describe, expect, it } from "vitest"
import { isSameHolder, resolvedView } from "../../src/domain/BankAccount.ts"

const same = (a: string, b: string) => isSameHolder(Redacted.make(a), Redacted.make(b))

describe("the holder of a bank account", () => {
  it("is the same in capitals, without accents, and with the family name first", () => {
    expect(same("John Doe", "JOHN DOE")).toBe(true)
    expect(same("Doe, John", "JOHN DOE")).toBe(true)
    expect(same("José  Núñez-Abe", "NUNEZ ABE JOSE")).toBe(true)
  })

  it("is another one where a word is another, missing or more", () => {
    expect(same("Jane Doe", "JOHN DOE")).toBe(false)
    expect(same("John", "JOHN DOE")).toBe(false)
    expect(same("John Doe Ltd", "JOHN DOE")).toBe(false)
    expect(same("John John Doe", "JOHN DOE")).toBe(false)
  })

  it("is shown beside the masked number", () => {
    const account = { country: "UG", bankCode: "01", accountNumber: Redacted.make("9030001234") }
    expect(resolvedView(account, Redacted.make("JOHN DOE"))).toStrictEqual({
      account_name: "JOHN DOE",
      bank_code: "01",
      country: "UG",
      masked_account_number: "••••1234"
    })
  })
})
