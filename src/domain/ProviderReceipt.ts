import { Option } from "effect"
import type { Fact } from "./Fact.ts"
import type { Instant } from "./Instant.ts"
import { msisdnAsWritten } from "./Msisdn.ts"
import type { Payment } from "./Payment.ts"
import type { Transaction } from "./Transaction.ts"

// The number by which the customer knows a payment: the operator puts it into its SMS, or the bank onto its slip.

/** A number as operators write it. Any other text could be a sentence with a name in it, and is not stored. */
const RECEIPT = /^[A-Za-z0-9][\w./-]{0,63}$/

/** The receipt as a field of a fact, from any value in its place: no value makes the provider's answer unreadable. */
export const receiptOf = (said: unknown): { readonly receipt?: string } => {
  const text = typeof said === "number" ? String(said) : said
  return typeof text === "string" && RECEIPT.test(text) ? { receipt: text } : {}
}

/** Letters and digits only, in capitals, because people add and leave out separators. `receipt_member` in the database agrees. */
export const receiptIdentity = (text: string): string =>
  text
    .normalize("NFKC")
    .replace(/[^A-Za-z0-9]/g, "")
    .toUpperCase()

/** The record with the fact's number. A fact without one removes none; one that is new to the tenant makes a new version. */
export const withReceipt = <R extends Transaction>(before: R, next: R, fact: Fact, at: Instant): R => {
  const receipt = "receipt" in fact ? fact.receipt : undefined
  if (receipt === undefined || next.kind === "exchange" || next.ofAnother === true || next.providerReceipt === receipt)
    return next
  if (isOwnNumber(next, receipt)) return next
  const named = { ...next, providerReceipt: receipt }
  return next.version === before.version ? { ...named, version: next.version + 1, updatedAt: at } : named
}

/** Some operators put the person's number in its place; the record has only the end of that number. */
const isOwnNumber = (record: Payment, receipt: string): boolean => {
  const masked = record.kind === "payout" ? record.maskedDestination : record.maskedSource
  const number = msisdnAsWritten(receipt, record.corridor.country)
  return masked !== null && Option.isSome(number) && number.value.slice(-4) === masked.slice(-4)
}
