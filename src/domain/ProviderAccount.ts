import { Schema } from "effect"
import type { Currency } from "./Currency.ts"
import type { Transaction } from "./Transaction.ts"

/** A keyed hash of what names an account at a provider: it distinguishes two accounts, and it says nothing else. */
export const AccountFingerprint = Schema.String
export type AccountFingerprint = typeof AccountFingerprint.Type

/**
 * By which an account is known for transactions in a currency: what a new transaction keeps comes first. Several where the account was known by
 * another name or another secret before; none where it moves nothing in the currency.
 */
export interface KnownAccount {
  readonly fingerprints: (currency: Currency) => ReadonlyArray<AccountFingerprint>
}

/** The record's memory of the account that it is sent with; empty where the account moves nothing in its currency. */
export const stampOf = ({ fingerprints }: KnownAccount, currency: Currency): Pick<Transaction, "account"> => {
  const [account] = fingerprints(currency)
  return account === undefined ? {} : { account }
}

/**
 * The account among those that are set with which a record was sent; undefined where it is none of them. A record that keeps no account is from
 * before accounts were kept, and was sent with one of `claimed`: those that were set when the first process that keeps accounts began.
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
