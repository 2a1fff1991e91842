import { Redacted, Result } from "effect"
import { Reported } from "../domain/CallbackReport.ts"
import { type Currency, isCurrency } from "../domain/Currency.ts"
import type { Fact } from "../domain/Fact.ts"
import { fromDecimal, fromDecimalDown, fromDecimalUp, type MinorUnits, ZERO } from "../domain/Money.ts"
import { receiptOf } from "../domain/ProviderReceipt.ts"
import type { TransactionKind } from "../domain/Transaction.ts"
import type { StatusOutcome } from "../services/ports/Provider.ts"
import { type FactWithAlarm, unreadable, withoutAlarm } from "./AnswerParsing.ts"
import { type ProviderRefusal, refusedBy } from "./Refusals.ts"
import { withoutNoise } from "./WireNumber.ts"

type Exchanged = Pick<Extract<Fact, { _tag: "Succeeded" }>, "exchanged">

/** `amount` is without `fee`; what is not named is null. */
export interface Sum {
  readonly amount: MinorUnits | null
  readonly currency: Currency | null
  readonly fee: MinorUnits | null
}

/** One transaction as a provider shows it, in the gateway's terms. */
export interface Shown {
  readonly kind: TransactionKind
  /** Whether every reference that it names is ours. */
  readonly isOurs: boolean
  /** The provider's own word. */
  readonly status: string
  /** Undefined where the word is not in the table: it is not understood, and never a failure. */
  readonly standing: Reported | undefined
  readonly providerReference: string | null
  /** The number by which the payer or recipient knows it, where the provider tells it (`ProviderReceipt`). */
  readonly receipt?: unknown
  readonly note: string
  /** Undefined where it cannot be read. */
  readonly sum: (Sum & Exchanged) | undefined
  /** Why, where it failed. */
  readonly refusal: ProviderRefusal
  /** Whether it is pending only because the payer did nothing yet: it may be paid late, and the gateway's window ends it. */
  readonly isUnfinished?: boolean
  /** Whether its failure is to be looked at once more, some time later, by the provider's documents. */
  readonly isUnsure?: boolean
  /** When it came back, where that is said. */
  readonly returnedAt?: number | null
  /** Whether the provider names another number or account than this record's. */
  readonly isOfAnother?: boolean
}

type Words<Meaning extends string> = { readonly [M in Meaning]?: ReadonlyArray<string> }

/** The words of a provider by what they mean. One that is not among them means nothing. */
export const meaningBy = <Meaning extends string>(meanings: ReadonlyArray<Meaning>, words: Words<Meaning>) => {
  const table = new Map(meanings.flatMap((meaning) => (words[meaning] ?? []).map((word) => [word, meaning] as const)))
  return (word: string | null | undefined): Meaning | undefined => table.get(word ?? "")
}

/** A provider's whole vocabulary for its movements. A word that is not in it is not understood, and never a failure. */
export const vocabulary = (words: Words<Reported>) => meaningBy(Reported.literals, words)

/**
 * Written as people do: with blanks, a plus, leading zeros, or masked, at its beginning or in its middle: only what stands behind the mask
 * is compared. A text that is too short to compare counts as the same party.
 */
export const isOtherParty = (expected: Redacted.Redacted | undefined, shown: string | null | undefined): boolean => {
  const own = bare(expected === undefined ? "" : Redacted.value(expected))
  const theirs = bare((shown ?? "").split(MASK).at(-1) ?? "").replace(/^0+/, "")
  if (own.length < TELLING_CHARACTERS || theirs.length < TELLING_CHARACTERS) return false
  return !own.endsWith(theirs) && !theirs.endsWith(own)
}
const TELLING_CHARACTERS = 4
/** As providers write what they do not show: `2547*****233`, `2547XXXXXX67`. */
const MASK = /[*#•]+|x{2,}/i
const bare = (text: string): string => text.toUpperCase().replace(/[^A-Z0-9]/g, "")

/**
 * The shown movement, as a fact. Another's transaction, an unknown word and an unreadable amount are `Unknown`, with an alarm. A paid
 * collection whose fee is not known alarms, too: the float is credited net of it, and so not by itself. Of a payout the held fee stands.
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
      fact: { _tag: "Mismatched", note: `status ${status}, for another number` },
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
      // Whether a fee came back is not said, so none is given back.
      const { amount, currency, fee: charged } = sum
      return withoutAlarm({ _tag: "Returned", ...named, amount, currency, fee: ZERO, charged, at: returnedAt ?? null, note })
    }
  }
}

const UNPRICED = "a collection succeeded, and neither its answer nor the contract says its fee: until one does it is not credited"

/** It is ours, so the handle is kept: a record that has one is never taken for one that did not arrive. */
const unreadableSum = (status: string, providerReference: string | null): FactWithAlarm<StatusOutcome> => {
  const { alarm, fact } = unreadable("the amount or the currency cannot be read", status)
  return { fact: { ...fact, providerReference }, alarm }
}

/** How a wire writes amounts. `up` and `down` take digits that are finer than the currency. */
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

/** Undefined where a part cannot be read. A fee that is finer than the currency is rounded up, as it was when it was held. */
export const sumOf = ({ amount, currency, fee }: WrittenSum, format: AmountFormat = majorUnits) => {
  if (!isCurrency(currency) || amount === null || amount === undefined) return undefined
  const whole = format.exact(amount, currency)
  const charged = fee === null || fee === undefined ? Result.succeed(null) : format.up(fee, currency)
  return Result.isFailure(whole) || Result.isFailure(charged)
    ? undefined
    : { amount: whole.success, currency, fee: charged.success }
}
