import { Schema } from "effect"
import type { Currency } from "./Currency.ts"
import type { Transaction } from "./Transaction.ts"

/** A keyed hash of what identifies an account at a provider. It distinguishes two accounts and reveals nothing else. */
export const AccountFingerprint = Schema.String
export type AccountFingerprint = typeof AccountFingerprint.Type

/**
 * The fingerprints that identify an account for transactions in a currency; a new transaction stores the first. There are
 * several where the account had another name or another secret before, and none where it moves no money in the currency.
 */
export interface KnownAccount {
  readonly fingerprints: (currency: Currency) => ReadonlyArray<AccountFingerprint>
}

/** The account that the record is sent with, as the record stores it; empty where the account moves no money in its currency. */
export const stampOf = ({ fingerprints }: KnownAccount, currency: Currency): Pick<Transaction, "account"> => {
  const [account] = fingerprints(currency)
  return account === undefined ? {} : { account }
}

/**
 * The configured account that a record was sent with; undefined where it is none of them. A record without an account is from
 * before accounts were stored, and was sent with one of `claimed`: the accounts that were configured when the first process
 * that stores accounts started.
 */
export const accountOf = <A extends KnownAccount>(
  accounts: ReadonlyArray<A>,
  claimed: ReadonlyArray<AccountFingerprint>,
  { account, currency }: Pick<Transaction, "account" | "currency">
): A | undefined => {
  const sentWith = account === undefined ? claimed : [account]
  if (sentWith.length === 0) return accounts[0]
  return accounts.find((one) => one.fingerprints(currency).some((known) => sentWith.includes(known)))
}
