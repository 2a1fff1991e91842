import { Redacted } from "effect"
import { maskedNumber } from "./Masking.ts"
import { nameIdentity } from "./PartyIdentity.ts"

/** A bank account as the tenant identifies it. */
export interface BankAccount {
  readonly country: string
  readonly bankCode: string
  readonly accountNumber: Redacted.Redacted
}

/** Whether two spellings name one holder: banks write names in capitals, without accents, and the family name first or last. */
export const isSameHolder = (a: Redacted.Redacted, b: Redacted.Redacted): boolean =>
  nameIdentity(Redacted.value(a)) === nameIdentity(Redacted.value(b))

/** A resolved account as the tenant that asked sees it (contract REF-2). */
export const bankAccountView = ({ accountNumber, bankCode, country }: BankAccount, holder: Redacted.Redacted) => ({
  account_name: Redacted.value(holder),
  bank_code: bankCode,
  country,
  masked_account_number: maskedNumber(Redacted.value(accountNumber))
})
