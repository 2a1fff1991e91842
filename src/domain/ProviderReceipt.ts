import { Option } from "effect"
import type { Fact } from "./Fact.ts"
import type { Instant } from "./Instant.ts"
import { msisdnAsWritten } from "./Msisdn.ts"
import type { Payment } from "./Payment.ts"
import type { Transaction } from "./Transaction.ts"

// The number by which the customer knows a payment: what the operator writes into its SMS, or the bank onto its slip.

/** A number as operators write it. A text that is none could be a sentence with a name in it, and is not kept. */
const RECEIPT = /^[A-Za-z0-9][\w./-]{0,63}$/

/** As a member of a fact, from whatever a provider's answer has in its place: nothing there makes an answer unreadable. */
export const receiptOf = (said: unknown): { readonly receipt?: string } => {
  const text = typeof said === "number" ? String(said) : said
  return typeof text === "string" && RECEIPT.test(text) ? { receipt: text } : {}
}

/** Letters and digits alone, in capitals: people leave out and put in what stands between them. `receipt_member` of the database spells it so, too. */
export const receiptIdentity = (text: string): string =>
  text
    .normalize("NFKC")
    .replace(/[^A-Za-z0-9]/g, "")
    .toUpperCase()

/** The record with the number that the fact names. An answer that names none takes none away; one that is new to the tenant is a version of its own. */
export const withReceipt = <R extends Transaction>(before: R, next: R, fact: Fact, at: Instant): R => {
  const receipt = "receipt" in fact ? fact.receipt : undefined
  if (receipt === undefined || next.kind === "exchange" || next.ofAnother === true || next.providerReceipt === receipt)
    return next
  if (isOwnNumber(next, receipt)) return next
  const named = { ...next, providerReceipt: receipt }
  return next.version === before.version ? { ...named, version: next.version + 1, updatedAt: at } : named
}

/** Some operators repeat the person's number in its place, of which a record has no more than the end. */
const isOwnNumber = (record: Payment, receipt: string): boolean => {
  const masked = record.kind === "payout" ? record.maskedDestination : record.maskedSource
  const number = msisdnAsWritten(receipt, record.corridor.country)
  return masked !== null && Option.isSome(number) && number.value.slice(-4) === masked.slice(-4)
}
