import { Option } from "effect"
import type { Reference } from "../../../src/domain/Ids.ts"
import { decoded, type FactWithAlarm, isAnswered, withoutAlarm } from "../../../src/providers/AnswerParsing.ts"
import { asCreateOutcome, type MoneyCallAnswer, moneyCallAnswer } from "../../../src/providers/Movements.ts"
import { answerBy, sumOf, vocabulary } from "../../../src/providers/ProviderStatus.ts"
import { instantIn } from "../../../src/providers/Statements.ts"
import type { ProviderResponse } from "../../../src/providers/Transport.ts"
import type { PayoutOutcome, StatusOutcome } from "../../../src/services/ports/Provider.ts"
import { codeOf, identity, named, type PaymentKind, refusal, refusalBy } from "./Refusals.ts"
import { Movement } from "./Wire.ts"

const { readAsUnknown } = identity

export const standingOf = vocabulary({
  pending: ["pending"],
  successful: ["succeeded"],
  failed: ["failed"],
  returned: ["returned"]
})

/** The answer to POST. Where our reference was there already, a lookup decides. */
export const posted = (kind: PaymentKind, response: ProviderResponse, reference: Reference): MoneyCallAnswer<PayoutOutcome> =>
  isAnswered(response, 409) && codeOf(response) === "duplicate_client_ref"
    ? { confirm: taken }
    : moneyCallAnswer(response, {
        refused: refusal(kind, response),
        schema: Movement,
        readAsUnknown,
        read: (movement) => taken(answerOf(kind, movement, reference))
      })

/** What stands there, as the answer to the call that made it, now or before. */
const taken = (looked: FactWithAlarm<StatusOutcome>): FactWithAlarm<PayoutOutcome> =>
  asCreateOutcome(looked, "what was only just made is not there, or came back")

/** The answer to GET by our reference. */
export const found = (kind: PaymentKind, response: ProviderResponse, reference: Reference): FactWithAlarm<StatusOutcome> => {
  if (isAnswered(response, 404) && codeOf(response) === "not_found") return withoutAlarm({ _tag: "NotFound", note: "not_found" })
  const movement = Option.getOrUndefined(decoded(Movement, response))
  return movement === undefined ? readAsUnknown(response) : answerOf(kind, movement, reference)
}

const answerOf = (kind: PaymentKind, movement: Movement, reference: Reference): FactWithAlarm<StatusOutcome> => {
  const { client_ref, failure, id: providerReference, status, updated_at } = movement
  const standing = standingOf(status)
  const code = failure ?? "unsaid"
  return answerBy({
    kind,
    isOurs: client_ref === reference,
    status,
    standing,
    providerReference,
    note: standing === "failed" ? named(code) : `status ${named(status)}`,
    sum: sumOf(movement),
    refusal: refusalBy(kind, code),
    returnedAt: instantIn(updated_at)
  })
}
