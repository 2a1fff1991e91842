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

/** Our side of a movement: Airtel's responses name neither its currency, the country's, nor a charge's contract fee. */
export interface ExpectedMovement {
  readonly reference: Reference
  readonly currency: Currency
  readonly fee: MinorUnits | null
  /** The ordered amount of a charge, because a return is always of the whole amount. */
  readonly charged?: MinorUnits | undefined
  /** True while a charge's payer may still see the prompt. */
  readonly isEarly: boolean
  /** True when the call was retried within itself, so that a duplicate may be our own. */
  readonly isRepeated?: boolean
}

export const standingOf = vocabulary({
  // TI appears in responses, although the tables lack it. TA is being reconciled by Airtel and changes later.
  pending: ["TIP", "TI", "TA"],
  successful: ["TS"],
  failed: ["TF", "TE"],
  returned: ["TR"]
})

/** The response to the POST that moves money. Data and status are read together, because a refusal comes with HTTP 200. */
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
    // A disbursement that "failed" counts as failed only when its status says so, too.
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
 * A request that a restore made us forget has used the id. No status names its amount. Only a certain failure can be taken for
 * this order's; anything else would be booked with this order's figures.
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

/** The transaction's status shows that it exists, whatever the code says. SUCCESS means that the prompt was sent. */
const isUnderWay = (answer: Movement): boolean => {
  const standing = standingOf(statusOf(answer))
  return (standing !== undefined && standing !== "failed") || /^success\.?$/i.test(statusOf(answer))
}

/** Whether a response shows a transaction: then the call was executed, and must not be repeated. */
export const showsTransaction = (response: ProviderResponse): boolean => {
  const answer = shownIn(response)
  return answer !== undefined && isUnderWay(answer)
}
const shownIn = errorIn(MovementAnswer)

/** "Success" for a charge means only that the prompt was sent; a disbursement may already be complete. */
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

/** The response to a movement's GET. Its status decides, except TF, which also appears when the query found nothing. */
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
    // For a payout, TF without a code that gives a reason proves nothing.
    isUnsure: status === "TF" && (isEarly || (kind === "payout" && typeof meaning !== "object")),
    providerReference: wireId(reference),
    receipt: kind === "payout" ? transaction?.reference_id : transaction?.airtel_money_id,
    note: noteOf(answer),
    sum: { amount: standing === "returned" ? charged : null, currency, fee: kind === "payout" ? null : fee },
    // The reason of a failure, if a code beside the status gives one.
    refusal: typeof meaning === "object" ? meaning : unsaid
  })
}

/** A final status counts only together with our id. */
const isOurs = (answer: Movement, { reference }: Pick<ExpectedMovement, "reference">): boolean => {
  const id = answer.data?.transaction?.id
  const standing = standingOf(statusOf(answer))
  return id === wireId(reference) || (typeof id !== "string" && (standing === undefined || standing === "pending"))
}

const statusOf = ({ data }: Movement): string => data?.transaction?.status ?? ""

/** Status and codes only; the message may contain personal data. */
const noteOf = (answer: Movement): string => {
  const status = statusOf(answer)
  const word = /^[A-Za-z. ]{1,20}$/.test(status) ? `status ${status}` : "no status"
  return [word, ...codesIn(answer.status)].join(", ")
}
