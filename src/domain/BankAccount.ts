import { Redacted } from "effect"
import { maskedNumber } from "./Masking.ts"

/** An account as a tenant names it. */
export interface BankAccount {
  readonly country: string
  readonly bankCode: string
  readonly accountNumber: Redacted.Redacted
}

/** Whether two spellings name the same holder: banks write in capitals, without accents, and the family name first or last. */
export const isSameHolder = (a: Redacted.Redacted, b: Redacted.Redacted): boolean => words(a) === words(b)

/** A resolved account as its asker sees it (contract REF-2). */
export const bankAccountView = ({ accountNumber, bankCode, country }: BankAccount, holder: Redacted.Redacted) => ({
  account_name: Redacted.value(holder),
  bank_code: bankCode,
  country,
  masked_account_number: maskedNumber(Redacted.value(accountNumber))
})

const words = (name: Redacted.Redacted): string =>
  Redacted.value(name)
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toUpperCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "")
    .sort()
    .join(" ")
