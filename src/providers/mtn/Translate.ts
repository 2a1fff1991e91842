import { Option } from "effect"
import type { Reported } from "../../domain/CallbackReport.ts"
import type { Reference } from "../../domain/Ids.ts"
import type { MinorUnits } from "../../domain/Money.ts"
import type { PayoutOutcome, StatusOutcome, StatusQuery } from "../../services/ports/Provider.ts"
import { type FactWithAlarm, isAnswered, withoutAlarm } from "../AnswerParsing.ts"
import { acceptedAs, asCreateOutcome, type MoneyCallAnswer, notSent, onceNotFound } from "../Movements.ts"
import { answerBy, isOtherParty, sumOf, vocabulary } from "../ProviderStatus.ts"
import type { ProviderResponse } from "../Transport.ts"
import { codeOf, decodedOk, failureBy, identity, noteOf, refusal, wordOf } from "./Refusals.ts"
import { type Product, referenceIdOf, StatusAnswer } from "./Wire.ts"

type Wire = typeof StatusAnswer.Type

/** `fee` is the contract fee for a given amount; MTN's API never reports a fee. */
export interface ExpectedMovement extends Pick<StatusQuery, "reference" | "party"> {
  readonly fee: (amount: MinorUnits) => MinorUnits | null
}

// Some of these words are reasons in other places.
const standingBy = vocabulary({
  pending: ["PENDING", "ONGOING", "DELAYED"],
  successful: ["SUCCESSFUL"],
  failed: ["FAILED", "REJECTED", "EXPIRED"]
})

/** The response to the POST of a movement. After a 409 the status decides: MTN already had its X-Reference-Id. */
export const posted = (response: ProviderResponse, reference: Reference): MoneyCallAnswer<PayoutOutcome> => {
  if (response._tag === "NotSent") return notSent(response.note)
  if (response._tag === "Answered" && response.status === 202 && response.body.trim() === "")
    return withoutAlarm(acceptedAs({ providerReference: referenceIdOf(reference), note: "HTTP 202" }))
  if (isAnswered(response, 409))
    return { confirm: (looked) => asCreateOutcome(looked, "MTN knows an X-Reference-Id and has nothing by it") }
  return onceNotFound(refusal(response)) ?? identity.readAsUnknown(response)
}

/** The response to the GET of a movement. */
export const found = (product: Product, response: ProviderResponse, expected: ExpectedMovement): FactWithAlarm<StatusOutcome> => {
  // Any other 404 means a wrong URL and proves nothing about a movement.
  if (response._tag === "Answered" && response.status === 404 && codeOf(response) === NOTHING)
    return withoutAlarm({ _tag: "NotFound", note: noteOf(response) })
  const answer = decodedOk(StatusAnswer, response)
  return Option.isNone(answer) ? identity.readAsUnknown(response) : answerOf(product, answer.value, expected)
}
const NOTHING = "RESOURCE_NOT_FOUND"

/** A failure is not final while any member says that the movement is still in progress. */
export const standingOf = (wire: Wire): Reported | undefined => {
  const word = standingBy(wire.status)
  return word === "failed" && reasonsOf(wire).some((reason) => goesOn.has(wordOf(reason))) ? "pending" : word
}
const goesOn: ReadonlySet<string> = new Set([
  "PENDING",
  "ONGOING",
  "DELAYED",
  "PAYER_DELAYED",
  "PAYEE_DELAYED",
  "PAYER_ONGOING",
  "PAYEE_ONGOING",
  // "Pending and not completed", as MTN's list of error codes explains it.
  "TRANSACTION_NOT_COMPLETED"
])

const answerOf = (product: Product, wire: Wire, { fee, party, reference }: ExpectedMovement): FactWithAlarm<StatusOutcome> => {
  const { externalId, status } = wire
  const standing = standingOf(wire)
  const [why = status] = reasonsOf(wire)
  const sum = sumOf(wire)
  return answerBy({
    kind: product === "collection" ? "collection" : "payout",
    isOurs: (externalId ?? reference) === reference,
    isOfAnother: isOtherParty(party, (wire.payee ?? wire.payer)?.partyId),
    status,
    standing,
    // Usually an empty wallet; sometimes the movement succeeds a little later.
    isUnsure: wordOf(why) === "INTERNAL_PROCESSING_ERROR",
    providerReference: referenceIdOf(reference),
    receipt: standing === "successful" ? wire.financialTransactionId : null,
    note: standing === "failed" ? `status ${status}, ${named(why)}` : `status ${status}${transactionIn(standing, wire)}`,
    sum: sum === undefined ? undefined : { ...sum, fee: fee(sum.amount) },
    refusal: failureBy(product, why)
  })
}

const transactionIn = (standing: Reported | undefined, { financialTransactionId }: Wire): string =>
  standing === "successful" && /^\w{1,64}$/.test(financialTransactionId ?? "")
    ? `, financial transaction ${financialTransactionId}`
    : ""

/** All reasons in the body, the documented member first. The other members are used only when they are text. */
const reasonsOf = ({ Reason, code, reason }: Wire): ReadonlyArray<string> =>
  [reason, Reason, code].flatMap((said) => {
    const text = typeof said === "object" && said !== null && "code" in said ? said.code : said
    return typeof text === "string" && text.trim() !== "" ? [text] : []
  })

/** A reason is shown in the history only when it is a code; other text could contain a name. */
const named = (reason: string): string => (/^[A-Z_]{1,60}$/.test(reason) ? reason : "a reason in words")
