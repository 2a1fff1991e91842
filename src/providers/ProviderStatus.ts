import { Redacted, Result } from "effect"
import { Reported } from "../domain/CallbackReport.ts"
import { type Currency, isCurrency } from "../domain/Currency.ts"
import type { Fact } from "../domain/Fact.ts"
import { fromDecimal, fromDecimalDown, fromDecimalUp, type MinorUnits, ZERO } from "../domain/Money.ts"
import { receiptOf } from "../domain/ProviderReceipt.ts"
import type { TransactionKind } from "../domain/Transaction.ts"
import type { StatusOutcome } from "../services/ports/Provider.ts"
import { type FactWithAlarm, shownWord, unreadable, withoutAlarm } from "./AnswerParsing.ts"
import { type ProviderRefusal, refusedBy } from "./Refusals.ts"
import { withoutNoise } from "./WireNumber.ts"

type Exchanged = Pick<Extract<Fact, { _tag: "Succeeded" }>, "exchanged">

/** `amount` does not include `fee`. A value that the provider does not name is null. */
export interface Sum {
  readonly amount: MinorUnits | null
  readonly currency: Currency | null
  readonly fee: MinorUnits | null
}

/** One transaction as a provider shows it, in the gateway's terms. */
export interface Shown {
  readonly kind: TransactionKind
  /** Whether every reference in it is ours. */
  readonly isOurs: boolean
  /** The provider's own status word. */
  readonly status: string
  /** Undefined when the word is not in the vocabulary: it is then not understood, and never a failure. */
  readonly standing: Reported | undefined
  readonly providerReference: string | null
  /** The receipt number that the payer or recipient gets, if the provider reports it (`ProviderReceipt`). */
  readonly receipt?: unknown
  readonly note: string
  /** Undefined when it cannot be parsed. */
  readonly sum: (Sum & Exchanged) | undefined
  /** The reason, when it failed. */
  readonly refusal: ProviderRefusal
  /** True when it is pending only because the payer has not acted yet. It may still be paid; the gateway's window ends it. */
  readonly isUnfinished?: boolean
  /** True when the provider's documentation says that such a failure must be confirmed by a later poll. */
  readonly isUnsure?: boolean
  /** When it was returned, if the provider says so. */
  readonly returnedAt?: number | null
  /** Whether the provider shows another number or account than the record has. */
  readonly isOfAnother?: boolean
}

type Words<Meaning extends string> = { readonly [M in Meaning]?: ReadonlyArray<string> }

/** A provider's words by their meaning. Any other word has no meaning. */
export const meaningBy = <Meaning extends string>(meanings: ReadonlyArray<Meaning>, words: Words<Meaning>) => {
  const table = new Map(meanings.flatMap((meaning) => (words[meaning] ?? []).map((word) => [word, meaning] as const)))
  return (word: string | null | undefined): Meaning | undefined => table.get(word ?? "")
}

/** A provider's complete vocabulary of statuses. Any other word is not understood, and never a failure. */
export const vocabulary = (words: Words<Reported>) => meaningBy(Reported.literals, words)

/**
 * Compares numbers or accounts that may be written with blanks, a plus sign or leading zeros, or be masked at the beginning or
 * in the middle: only the part after the mask is compared. A text that is too short to compare counts as the same party.
 */
export const isOtherParty = (expected: Redacted.Redacted | undefined, shown: string | null | undefined): boolean => {
  const own = bare(expected === undefined ? "" : Redacted.value(expected))
  const theirs = bare((shown ?? "").split(MASK).at(-1) ?? "").replace(/^0+/, "")
  if (own.length < TELLING_CHARACTERS || theirs.length < TELLING_CHARACTERS) return false
  return !own.endsWith(theirs) && !theirs.endsWith(own)
}
const TELLING_CHARACTERS = 4
/** How providers mask characters: `2547*****233`, `2547XXXXXX67`. */
const MASK = /[*#•]+|x{2,}/i
const bare = (text: string): string => text.toUpperCase().replace(/[^A-Z0-9]/g, "")

/**
 * The fact that a shown movement proves. Another party's transaction, an unknown word and an unreadable amount are `Unknown`,
 * with an alarm. A paid collection without a known fee also raises an alarm and is not credited automatically, because the
 * float is credited net of the fee. A payout keeps the fee that was reserved.
 */
export const answerBy = ({
  isOfAnother = false,
  isOurs,
  isUnfinished = false,
  isUnsure = false,
  kind,
  note,
  providerReference,
  receipt,
  refusal,
  returnedAt,
  standing,
  status,
  sum
}: Shown): FactWithAlarm<StatusOutcome> => {
  if (!isOurs) return unreadable("the answer is about another transaction", status)
  if (isOfAnother)
    return {
      fact: { _tag: "Mismatched", note: `status ${standing === undefined ? shownWord(status) : status}, for another number` },
      alarm: "a reference of ours is another request there"
    }
  const named = receiptOf(receipt)
  switch (standing) {
    case undefined:
      return unreadable("the status has no meaning here", status)
    case "pending":
      return withoutAlarm({ _tag: "StillPending", providerReference, ...named, ...(isUnfinished ? { isUnfinished } : {}), note })
    case "failed": {
      const { alarm, fact } = refusedBy(refusal, providerReference, note)
      return { fact: { ...fact, ...named, ...(isUnsure ? { isUnsure } : {}) }, alarm }
    }
    case "successful":
      if (sum === undefined) return unreadableSum(status, providerReference)
      return {
        fact: { _tag: "Succeeded", providerReference, ...named, ...sum, note },
        alarm: kind === "collection" && sum.fee === null ? UNPRICED : null
      }
    case "returned": {
      if (sum === undefined || sum.amount === null) return unreadableSum(status, providerReference)
      // The provider does not say whether the fee was returned, so none is given back.
      const { amount, currency, fee: charged } = sum
      return withoutAlarm({ _tag: "Returned", ...named, amount, currency, fee: ZERO, charged, at: returnedAt ?? null, note })
    }
  }
}

const UNPRICED = "a collection succeeded, and neither its answer nor the contract says its fee: until one does it is not credited"

/** The transaction is ours, so the provider's handle is kept: a record with one is never treated as not arrived. */
const unreadableSum = (status: string, providerReference: string | null): FactWithAlarm<StatusOutcome> => {
  const { alarm, fact } = unreadable("the amount or the currency cannot be read", status)
  return { fact: { ...fact, providerReference }, alarm }
}

/** How a provider writes amounts. `up` and `down` round digits that are finer than the currency. */
export interface AmountFormat {
  readonly exact: (text: string, currency: Currency) => Result.Result<MinorUnits, "inexact">
  readonly up: (text: string, currency: Currency) => Result.Result<MinorUnits, "inexact">
  readonly down: (text: string, currency: Currency) => Result.Result<MinorUnits, "inexact">
}

export const majorUnits: AmountFormat = {
  exact: (text, currency) => fromDecimal(withoutNoise(text, currency), currency),
  up: (text, currency) => fromDecimalUp(withoutNoise(text, currency), currency),
  down: (text, currency) => fromDecimalDown(withoutNoise(text, currency), currency)
}

interface WrittenSum {
  readonly amount?: string | null | undefined
  readonly currency?: string | null | undefined
  readonly fee?: string | null | undefined
}

/** Undefined when a part cannot be parsed. A fee that is finer than the currency is rounded up, as when it was reserved. */
export const sumOf = ({ amount, currency, fee }: WrittenSum, format: AmountFormat = majorUnits) => {
  if (!isCurrency(currency) || amount === null || amount === undefined) return undefined
  const whole = format.exact(amount, currency)
  const charged = fee === null || fee === undefined ? Result.succeed(null) : format.up(fee, currency)
  return Result.isFailure(whole) || Result.isFailure(charged)
    ? undefined
    : { amount: whole.success, currency, fee: charged.success }
}
