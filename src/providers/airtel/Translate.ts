import type { Currency } from "../../domain/Currency.ts"
import type { Reference } from "../../domain/Ids.ts"
import type { MinorUnits } from "../../domain/Money.ts"
import type { PaymentKind } from "../../domain/Payment.ts"
import type { PayoutOutcome, StatusOutcome } from "../../services/ports/Provider.ts"
import { errorIn, type FactWithAlarm, unreadable, withoutAlarm } from "../AnswerParsing.ts"
import { acceptedAs, asCreateOutcome, type MoneyCallAnswer, notProven, notSent, onceNotFound } from "../Movements.ts"
import { answerBy, vocabulary } from "../ProviderStatus.ts"
import { refusedBy, undelivered } from "../Refusals.ts"
import type { ProviderResponse } from "../Transport.ts"
import { codesIn, identity, isAccountRefused, type Meaning, meaningOf, movementOf, notAdmitted, unsaid } from "./Refusals.ts"
import { MovementAnswer, wireId } from "./Wire.ts"

type Movement = typeof MovementAnswer.Type

/** Our side: an answer of Airtel's names neither the currency, which is the country's, nor what the contract takes of a charge. */
export interface ExpectedMovement {
  readonly reference: Reference
  readonly currency: Currency
  readonly fee: MinorUnits | null
  /** Of a charge, what was ordered: what comes back is the whole of it. */
  readonly charged?: MinorUnits | undefined
  /** Of a charge whose payer may still have the prompt on the handset. */
  readonly isEarly: boolean
  /** Of a call that was sent once more within itself: what it meets may be its own. */
  readonly isRepeated?: boolean
}

export const standingOf = vocabulary({
  // TI is seen in answers, and absent from the tables; TA is what Airtel reconciles, and then it has another word.
  pending: ["TIP", "TI", "TA"],
  successful: ["TS"],
  failed: ["TF", "TE"],
  returned: ["TR"]
})

/** The answer to the POST that moves money: data and status together, because a refusal comes under HTTP 200. */
export const posted = (
  kind: PaymentKind,
  response: ProviderResponse,
  expected: ExpectedMovement
): MoneyCallAnswer<PayoutOutcome> => {
  if (response._tag === "NotSent") return notSent(response.note)
  if (isAccountRefused(response) && !showsTransaction(response)) return refusedBy(notAdmitted, null, "the account is refused")
  const answer = movementOf(response)
  if (answer === undefined) return identity.readAsUnknown(response)
  const meaning = meaningOf(answer.status)
  const note = noteOf(answer)
  if (isRefusal(meaning) && isUnderWay(answer)) return unclear(answer)
  if (typeof meaning === "object") {
    const refused = refusedBy(meaning, null, note)
    // A disbursement that "failed" is believed when its status says so, too.
    return onceNotFound(refused, meaning === undelivered ? notProven(refused) : undefined) ?? unclear(answer)
  }
  switch (meaning) {
    case "duplicate":
      return { confirm: (looked) => (expected.isRepeated === true ? asCreateOutcome(looked, unfound) : ofAnother(looked)) }
    case "ambiguous":
      return withoutAlarm({ _tag: "Unknown", reason: "unavailable", note })
    case "signature":
    case "pin":
      return refusedBy({ ...notAdmitted, alarm: `Airtel does not take the gateway's ${meaning}: ${note}` }, null, note)
    case "accepted":
    case "successful":
      return begun(kind, answer, meaning, expected)
    default:
      return unclear(answer)
  }
}

const unfound = "Airtel knows a transaction.id and has nothing by it"

/**
 * The id was used by a request that a restore made us forget. No status names its amount, so that only a failure that is sure is this one's:
 * everything else, whenever it is found, would be booked with this order's figures.
 */
const ofAnother = (looked: FactWithAlarm<StatusOutcome>): FactWithAlarm<PayoutOutcome> =>
  looked.fact._tag === "Refused" && looked.fact.isUnsure !== true
    ? { ...looked, fact: looked.fact }
    : {
        fact: { _tag: "Mismatched", note: "the transaction.id was used before" },
        alarm: "Airtel has an id of ours for another request"
      }

const isRefusal = (meaning: Meaning | undefined): boolean =>
  typeof meaning === "object" || meaning === "signature" || meaning === "pin"

/** The word of the transaction says that it is there, whatever the code says: SUCCESS is a prompt's that was sent. */
const isUnderWay = (answer: Movement): boolean => {
  const standing = standingOf(statusOf(answer))
  return (standing !== undefined && standing !== "failed") || /^success\.?$/i.test(statusOf(answer))
}

/** Whether an answer shows a transaction: then its call was executed, and is not made again whatever else it says. */
export const showsTransaction = (response: ProviderResponse): boolean => {
  const answer = shownIn(response)
  return answer !== undefined && isUnderWay(answer)
}
const shownIn = errorIn(MovementAnswer)

/** A prompt that was sent has the words of a success, and is none; a disbursement may be over at once. */
const begun = (
  kind: PaymentKind,
  answer: Movement,
  meaning: Extract<Meaning, string>,
  expected: ExpectedMovement
): FactWithAlarm<PayoutOutcome> => {
  if (!isOurs(answer, expected)) return unreadable("the answer is about another transaction", statusOf(answer))
  if (kind === "payout") {
    const standing = standingOf(statusOf(answer))
    const isSaid = standing === "pending" || (standing === "successful" && meaning === "successful")
    return isSaid ? asCreateOutcome(answerOf(kind, answer, expected), "a new disbursement came back") : unclear(answer)
  }
  return meaning === "accepted"
    ? withoutAlarm(acceptedAs({ providerReference: wireId(expected.reference), note: noteOf(answer) }))
    : unclear(answer)
}

const unclear = (answer: Movement) => unreadable(`an answer has no meaning here: ${noteOf(answer)}`, statusOf(answer))

/** The answer to the GET of a movement. The word of the transaction decides, but for TF, which also stands beside a question that found nothing. */
export const found = (
  kind: PaymentKind,
  response: ProviderResponse,
  expected: ExpectedMovement
): FactWithAlarm<StatusOutcome> => {
  const answer = movementOf(response)
  if (answer === undefined) return identity.readAsUnknown(response)
  const standing = standingOf(statusOf(answer))
  if (standing === undefined || statusOf(answer) === "TF") {
    const meaning = meaningOf(answer.status)
    if (meaning === "absent") return withoutAlarm({ _tag: "NotFound", note: noteOf(answer) })
    if (meaning === "ambiguous") return withoutAlarm({ _tag: "Unknown", reason: "unavailable", note: noteOf(answer) })
  }
  return standing === undefined ? unclear(answer) : answerOf(kind, answer, expected)
}

const answerOf = (kind: PaymentKind, answer: Movement, expected: ExpectedMovement): FactWithAlarm<StatusOutcome> => {
  const status = statusOf(answer)
  const { charged = null, currency, fee, isEarly, reference } = expected
  const transaction = answer.data?.transaction
  const standing = standingOf(status)
  const meaning = meaningOf(answer.status)
  return answerBy({
    kind,
    isOurs: isOurs(answer, expected),
    status,
    standing,
    // Of a payout, TF without a code that says why is no proof.
    isUnsure: status === "TF" && (isEarly || (kind === "payout" && typeof meaning !== "object")),
    providerReference: wireId(reference),
    receipt: kind === "payout" ? transaction?.reference_id : transaction?.airtel_money_id,
    note: noteOf(answer),
    sum: { amount: standing === "returned" ? charged : null, currency, fee: kind === "payout" ? null : fee },
    // Why it failed, where a code beside the word says it.
    refusal: typeof meaning === "object" ? meaning : unsaid
  })
}

/** A word that ends it is believed beside our id alone. */
const isOurs = (answer: Movement, { reference }: Pick<ExpectedMovement, "reference">): boolean => {
  const id = answer.data?.transaction?.id
  const standing = standingOf(statusOf(answer))
  return id === wireId(reference) || (typeof id !== "string" && (standing === undefined || standing === "pending"))
}

const statusOf = ({ data }: Movement): string => data?.transaction?.status ?? ""

/** A word and codes; the message is for people. */
const noteOf = (answer: Movement): string => {
  const status = statusOf(answer)
  const word = /^[A-Za-z. ]{1,20}$/.test(status) ? `status ${status}` : "no status"
  return [word, ...codesIn(answer.status)].join(", ")
}
