import { Option, Result } from "effect"
import { type Currency, isCurrency } from "../../domain/Currency.ts"
import { fromDecimal, type MinorUnits } from "../../domain/Money.ts"
import type { PayoutOutcome, StatusOutcome, StatusQuery } from "../../services/ports/Provider.ts"
import { asCreateOutcome, type Reading, refusedBy, unreadable, withoutAlarm } from "../Reading.ts"
import type { ProviderResponse } from "../Transport.ts"
import { codeOf, decoded, isOwnError, noAnswer, noteOf } from "./Reading.ts"
import { failedWords, failureBy, openWords, refusedCall } from "./Refusals.ts"
import { type Product, referenceIdOf, StatusAnswer } from "./Wire.ts"

type Wire = typeof StatusAnswer.Type

/** `fee` is what the contract says that a movement of so much costs; the wire never names one. */
export interface Own extends Pick<StatusQuery, "reference"> {
  readonly fee: (amount: MinorUnits) => MinorUnits | null
}

/** The answer to the POST of a movement. `Known`: MTN had its X-Reference-Id already, so that its status decides. */
export const posted = (response: ProviderResponse, { reference }: Own): Reading<PayoutOutcome> | "Known" => {
  if (response._tag === "NotSent") return withoutAlarm({ _tag: "NotSent", note: response.note })
  if (response._tag === "Lost") return noAnswer(response)
  const { body, status } = response
  if (status === 202 && body.trim() === "") {
    const providerReference = referenceIdOf(reference)
    return withoutAlarm({ _tag: "Accepted", providerReference, observedAmount: null, observedCurrency: null, note: "HTTP 202" })
  }
  if (status === 409) return "Known"
  const note = noteOf(response)
  const refusal = isOwnError(response) ? refusedCall(status, codeOf(response), note) : undefined
  return refusal === undefined ? noAnswer(response) : refusedBy(refusal, null, note)
}

/** What the status of a movement comes to that was posted a second time. */
export const repeated = (looked: Reading<StatusOutcome>): Reading<PayoutOutcome> =>
  asCreateOutcome(looked, "MTN knows an X-Reference-Id and has nothing by it")

/** The answer to the GET of a movement. */
export const found = (product: Product, response: ProviderResponse, own: Own): Reading<StatusOutcome> => {
  // Another 404 is a wrong address and says nothing about a movement.
  if (response._tag === "Answered" && response.status === 404 && codeOf(response) === NOTHING) {
    return withoutAlarm({ _tag: "NotFound", note: noteOf(response) })
  }
  const answer = decoded(StatusAnswer, response)
  return Option.isNone(answer) ? noAnswer(response) : standing(product, answer.value, own)
}
const NOTHING = "RESOURCE_NOT_FOUND"

const standing = (product: Product, wire: Wire, { fee, reference }: Own): Reading<StatusOutcome> => {
  const { status } = wire
  if ((wire.externalId ?? reference) !== reference) return unreadable("the answer is about another transaction", status)
  const providerReference = referenceIdOf(reference)
  const reason = reasonOf(wire)
  // A failure that is said to go on is none yet.
  if (openWords.has(status) || (failedWords.has(status) && openWords.has(reason ?? ""))) {
    return withoutAlarm({ _tag: "StillPending", providerReference, note: `status ${status}` })
  }
  if (failedWords.has(status)) {
    const why = reason ?? status
    return refusedBy(failureBy(product, why), providerReference, `status ${status}, ${named(why)}`)
  }
  if (status !== "SUCCESSFUL") return unreadable("the status has no meaning here", status)
  const sum = sumOf(wire)
  if (sum === undefined) return unreadable("the amount or the currency cannot be read", status)
  const id = wire.financialTransactionId ?? ""
  const note = `status ${status}${/^\w{1,64}$/.test(id) ? `, financial transaction ${id}` : ""}`
  return withoutAlarm({ _tag: "Succeeded", providerReference, ...sum, fee: fee(sum.amount), note })
}

const reasonOf = ({ reason }: Wire): string | null => (typeof reason === "string" ? reason : (reason?.code ?? null))

/** A reason goes into the history only where it is a word: it could be a sentence with a name in it. */
const named = (reason: string): string => (/^[A-Z_]{1,60}$/.test(reason) ? reason : "a reason in words")

const sumOf = ({ amount, currency }: Wire): { readonly amount: MinorUnits; readonly currency: Currency } | undefined => {
  if (amount === undefined || amount === null || !isCurrency(currency)) return undefined
  const read = fromDecimal(amount, currency)
  return Result.isFailure(read) ? undefined : { amount: read.success, currency }
}
