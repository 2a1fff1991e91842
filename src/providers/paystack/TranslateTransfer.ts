import { DateTime, Option, Result } from "effect"
import { isCurrency } from "../../domain/Currency.ts"
import { ZERO } from "../../domain/Money.ts"
import type { PayoutOutcome, StatusOutcome, StatusQuery } from "../../services/ports/Provider.ts"
import {
  confirmRefusal,
  decoded,
  type ProviderRefusal,
  type Reading,
  type Refused,
  refusalOf,
  refusedBy,
  unreadable,
  withoutAlarm
} from "../Reading.ts"
import type { ProviderResponse } from "../Transport.ts"
import { fromSubunits, fromSubunitsUp } from "./Amounts.ts"
import { errorOf, noAnswer, notAdmitted, notFound } from "./Reading.ts"
import { RecipientAnswer, type Transfer, TransferAnswer, wireReference } from "./Wire.ts"

type Wire = typeof Transfer.Type
type Own = Pick<StatusQuery, "reference" | "currency">

// Paystack's whole vocabulary for a transfer. What is not here is not understood, and never a failure.
const meanings: ReadonlyMap<string, "pending" | "locked" | "delivered" | "failed" | "returned"> = new Map([
  ["pending", "pending"],
  ["received", "pending"],
  ["otp", "locked"],
  ["success", "delivered"],
  ["failed", "failed"],
  ["abandoned", "failed"],
  ["rejected", "failed"],
  ["blocked", "failed"],
  ["reversed", "returned"]
])

const LOCKED = "Paystack waits for a code before it sends transfers: switch that off in its dashboard"

const failure = refusalOf("other", "provider_rejected", "The provider could not deliver it.")

const invalidParty = refusalOf("party", "invalid_destination", "The provider does not know the recipient's account.")

/** The code of a recipient; else what its absence means for a payout of which nothing was sent. */
export const recipientIn = (response: ProviderResponse): string | Reading<PayoutOutcome> => {
  const answer = decoded(RecipientAnswer, response)
  if (Option.isSome(answer)) return answer.value.data.recipient_code
  if (response._tag === "Answered" && refusing.has(response.status) && errorOf(response) !== undefined)
    return refusedBy(invalidParty, null, `the recipient is refused with HTTP ${response.status}`)
  const { alarm, fact } = noAnswer(response)
  return { fact: { _tag: "NotSent", note: `no recipient: ${fact.note}` }, alarm }
}

/** What POST /transferrecipient, POST /transfer and POST /charge refuse with; 401 and 403 are our own account's fault. */
export const refusing: ReadonlySet<number> = new Set([400, 404, 422])

/** The answer to POST /transfer. */
export const transferOutcome = (response: ProviderResponse, order: Own): Reading<PayoutOutcome> => {
  if (response._tag === "NotSent") return withoutAlarm({ _tag: "NotSent", note: response.note })
  const refused = refusal(response)
  if (refused !== undefined) return refused
  const answer = decoded(TransferAnswer, response)
  if (Option.isNone(answer)) return noAnswer(response)
  const { alarm, fact } = standing(answer.value.data, order)
  switch (fact._tag) {
    // Delivered at once: the answer to the transfer itself never names the fee, so it is asked for.
    case "StillPending":
    case "Succeeded":
      return { fact: taken(fact.providerReference, fact.note), alarm }
    case "Refused":
    case "Unknown":
      return { fact, alarm }
    default:
      return unreadable("a new transfer came back already", answer.value.data.status)
  }
}

const taken = (providerReference: string | null, note: string): PayoutOutcome => ({
  _tag: "Accepted",
  providerReference,
  observedAmount: null,
  observedCurrency: null,
  note
})

const refusal = (response: ProviderResponse): Reading<Refused> | undefined => {
  if (response._tag !== "Answered" || errorOf(response) === undefined) return undefined
  const { status } = response
  if (status === 401 || status === 403) return refusedBy(notAdmitted, null, `HTTP ${status}`)
  if (!refusing.has(status)) return undefined
  return refusedBy(reasonOf(response), null, `HTTP ${status}`)
}

/** A short balance has no code: its text is the documented and only sign of it, and it decides no more than whom the refusal is about. */
const SHORT_BALANCE = /^Your balance is not enough to fulfill this request\.?$/

const reasonOf = (response: ProviderResponse): ProviderRefusal => {
  const error = errorOf(response)
  if (error?.code === "invalid_transfer_recipient") return invalidParty
  if (SHORT_BALANCE.test(error?.message ?? ""))
    return refusalOf(
      "pool",
      "provider_rejected",
      "The provider cannot pay it out now.",
      "Paystack refuses a transfer: the balance there is not enough"
    )
  return refusalOf("other", "provider_rejected", "The provider refused it.")
}

/** Refused by the call's HTTP status, and not in a transfer or charge that it names: believed once a lookup has found nothing. */
export const isUnconfirmed = ({ fact }: Reading<{ readonly _tag: string }>, response: ProviderResponse): boolean =>
  isRefused(fact) && fact.kind !== "config" && errorOf(response) !== undefined

const isRefused = (fact: { readonly _tag: string }): fact is Refused => fact._tag === "Refused"

export const confirmedTransfer = confirmRefusal("a refused transfer is there, and came back")

/** The answer to GET /transfer/verify/{reference}. */
export const transferFound = (response: ProviderResponse, order: Own): Reading<StatusOutcome> => {
  const absent = notFound(response)
  if (absent !== undefined) return absent
  const answer = decoded(TransferAnswer, response)
  return Option.isNone(answer) ? noAnswer(response) : standing(answer.value.data, order)
}

const standing = (wire: Wire, order: Own): Reading<StatusOutcome> => {
  const { status, transfer_code: providerReference } = wire
  const note = `status ${status}`
  if (wire.reference !== wireReference(order.reference)) return unreadable("the answer is about another transfer", status)
  switch (meanings.get(status)) {
    case undefined:
      return unreadable("the status has no meaning here", status)
    case "pending":
      return withoutAlarm({ _tag: "StillPending", providerReference, note })
    case "locked":
      return { fact: { _tag: "StillPending", providerReference, note }, alarm: LOCKED }
    case "failed":
      return refusedBy(failure, providerReference, note)
    case "delivered": {
      const sum = sumOf(wire)
      if (sum === undefined) return unreadable("the amount, the fee or the currency cannot be read", status)
      return withoutAlarm({ _tag: "Succeeded", providerReference, ...sum, note })
    }
    case "returned": {
      const sum = sumOf(wire)
      if (sum === undefined) return unreadable("the amount, the fee or the currency cannot be read", status)
      // Whether a fee came back is not said, so none is given back.
      const { amount, currency, fee: charged } = sum
      const at = instant(wire.updatedAt ?? wire.updated_at ?? null)
      return withoutAlarm({ _tag: "Returned", amount, currency, fee: ZERO, charged, at, note })
    }
  }
}

/** A fee that is not named is null: the held one stands. */
export const sumOf = ({ amount, currency, fee_charged = null }: Pick<Wire, "amount" | "currency" | "fee_charged">) => {
  if (!isCurrency(currency)) return undefined
  const units = fromSubunits(amount, currency)
  const fee = fee_charged === null ? Result.succeed(null) : fromSubunitsUp(fee_charged, currency)
  return Result.isFailure(units) || Result.isFailure(fee) ? undefined : { amount: units.success, currency, fee: fee.success }
}

export const instant = (text: string | null): number | null =>
  text === null ? null : Option.getOrNull(Option.map(DateTime.make(text), DateTime.toEpochMillis))

/** A transfer in a statement. */
export const listedTransfer = (status: string): "pending" | "successful" | "failed" | "returned" | undefined => {
  const meaning = meanings.get(status)
  return meaning === undefined ? undefined : listed[meaning]
}
const listed = { pending: "pending", locked: "pending", delivered: "successful", failed: "failed", returned: "returned" } as const
