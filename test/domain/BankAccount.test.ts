import { Redacted } from "effect"
import { describe, expect, it } from "vitest"
import { bankAccountView, isSameHolder } from "../../src/domain/BankAccount.ts"

const same = (a: string, b: string) => isSameHolder(Redacted.make(a), Redacted.make(b))

describe("comparing the holder of a bank account with the recipient's name", () => {
  it("takes two names for the same whatever their case, accents and order", () => {
    expect(same("John Doe", "JOHN DOE")).toBe(true)
    expect(same("Doe, John", "JOHN DOE")).toBe(true)
    expect(same("José  Núñez-Abe", "NUNEZ ABE JOSE")).toBe(true)
    expect(same("Groß, J.", "J GROSS")).toBe(true)
  })

  it("takes two names for different when a word differs, is missing or is added", () => {
    expect(same("Jane Doe", "JOHN DOE")).toBe(false)
    expect(same("John", "JOHN DOE")).toBe(false)
    expect(same("John Doe Ltd", "JOHN DOE")).toBe(false)
    expect(same("John John Doe", "JOHN DOE")).toBe(false)
    expect(same("Ann Abe", "ANNA BE")).toBe(false)
    expect(same("Ab C", "A BC")).toBe(false)
  })

  it("shows the name beside the masked number", () => {
    const account = { country: "UG", bankCode: "01", accountNumber: Redacted.make("9030001234") }
    expect(bankAccountView(account, Redacted.make("JOHN DOE"))).toStrictEqual({
      account_name: "JOHN DOE",
      bank_code: "01",
      country: "UG",
      masked_account_number: "••••1234"
    })
  })
})
