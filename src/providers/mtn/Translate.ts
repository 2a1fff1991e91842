import { Option, Result } from "effect"
import { type Currency, isCurrency } from "../../domain/Currency.ts"
import { fromDecimal, type MinorUnits } from "../../domain/Money.ts"
import type { Answer, AskOrder, PayoutOutcome } from "../../services/ports/Provider.ts"
import { asMade, type Reading, refusedBy, told, unread } from "../Reading.ts"
import type { Exchanged } from "../Transport.ts"
import { codeOf, decoded, isOwnError, noAnswer, noteOf } from "./Reading.ts"
import { referenceIdOf } from "./ReferenceId.ts"
import { failedWords, failureBy, openWords, refusedCall } from "./Refusals.ts"
import { type Product, StatusAnswer } from "./Wire.ts"

type Wire = typeof StatusAnswer.Type

/** `fee` is what the contract says that a movement of so much costs; the wire never names one. */
export interface Own extends Pick<AskOrder, "reference"> {
  readonly fee: (amount: MinorUnits) => MinorUnits | null
}

/** The answer to the POST of a movement. `Known`: MTN had its X-Reference-Id already, so that its status decides. */
export const posted = (exchanged: Exchanged, { reference }: Own): Reading<PayoutOutcome> | "Known" => {
  if (exchanged._tag === "NotSent") return told({ _tag: "NotSent", note: exchanged.note })
  if (exchanged._tag === "Lost") return noAnswer(exchanged)
  const { body, status } = exchanged
  if (status === 202 && body.trim() === "") {
    const providerReference = referenceIdOf(reference)
    return told({ _tag: "Accepted", providerReference, observedAmount: null, observedCurrency: null, note: "HTTP 202" })
  }
  if (status === 409) return "Known"
  const note = noteOf(exchanged)
  const refusal = isOwnError(exchanged) ? refusedCall(status, codeOf(exchanged), note) : undefined
  return refusal === undefined ? noAnswer(exchanged) : refusedBy(refusal, null, note)
}

/** What the status of a movement comes to that was posted a second time. */
export const repeated = (looked: Reading<Answer>): Reading<PayoutOutcome> =>
  asMade(looked, "MTN knows an X-Reference-Id and has nothing by it")

/** The answer to the GET of a movement. */
export const found = (product: Product, exchanged: Exchanged, own: Own): Reading<Answer> => {
  // Another 404 is a wrong address and says nothing about a movement.
  if (exchanged._tag === "Answered" && exchanged.status === 404 && codeOf(exchanged) === NOTHING) {
    return told({ _tag: "NotFound", note: noteOf(exchanged) })
  }
  const answer = decoded(StatusAnswer, exchanged)
  return Option.isNone(answer) ? noAnswer(exchanged) : standing(product, answer.value, own)
}
const NOTHING = "RESOURCE_NOT_FOUND"

const standing = (product: Product, wire: Wire, { fee, reference }: Own): Reading<Answer> => {
  const { status } = wire
  if ((wire.externalId ?? reference) !== reference) return unread("the answer is about another transaction", status)
  const providerReference = referenceIdOf(reference)
  const reason = reasonOf(wire)
  // A failure that is said to go on is none yet.
  if (openWords.has(status) || (failedWords.has(status) && openWords.has(reason ?? ""))) {
    return told({ _tag: "StillPending", providerReference, note: `status ${status}` })
  }
  if (failedWords.has(status)) {
    const why = reason ?? status
    return refusedBy(failureBy(product, why), providerReference, `status ${status}, ${named(why)}`)
  }
  if (status !== "SUCCESSFUL") return unread("the status has no meaning here", status)
  const sum = sumOf(wire)
  if (sum === undefined) return unread("the amount or the currency cannot be read", status)
  const id = wire.financialTransactionId ?? ""
  const note = `status ${status}${/^\w{1,64}$/.test(id) ? `, financial transaction ${id}` : ""}`
  return told({ _tag: "Succeeded", providerReference, ...sum, fee: fee(sum.amount), note })
}

const reasonOf = ({ reason }: Wire): string | null => (typeof reason === "string" ? reason : (reason?.code ?? null))

/** A reason goes into the history only where it is a word: it could be a sentence with a name in it. */
const named = (reason: string): string => (/^[A-Z_]{1,60}$/.test(reason) ? reason : "a reason in words")

const sumOf = ({ amount, currency }: Wire): { readonly amount: MinorUnits; readonly currency: Currency } | undefined => {
  if (amount === undefined || amount === null || !isCurrency(currency)) return undefined
  const read = fromDecimal(amount, currency)
  return Result.isFailure(read) ? undefined : { amount: read.success, currency }
}
