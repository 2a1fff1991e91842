import { DateTime, Option, Result, Schema } from "effect"
import { type Currency, isCurrency } from "../../domain/Currency.ts"
import { fromDecimal, fromDecimalDown, fromDecimalUp, type MinorUnits, ZERO } from "../../domain/Money.ts"
import type { ChargeOrder, ChargeOutcome, PayoutOutcome, StatusOutcome, StatusQuery } from "../../services/ports/Provider.ts"
import { confirmRefusal, decoded, type Reading, type Refused, refusedBy, unreadable, withoutAlarm } from "../Reading.ts"
import { exactJson, type ProviderResponse } from "../Transport.ts"
import { noAnswer } from "./Reading.ts"
import { failureBy, type Kind, refusals } from "./Refusals.ts"
import { MomoCollectionAnswer, PayoutAnswer, type Transaction, TransactionAnswer, TransactionsAnswer } from "./Wire.ts"

type Wire = typeof Transaction.Type

/** Ours, as far as an answer has to fit it: `currency` is the one of the float that moves. */
type Own = Pick<StatusQuery, "reference" | "currency">

/** Eversend's whole vocabulary. What is not here is not understood, and never a failure. */
const isStatus = Schema.is(Schema.Literals(["pending", "successful", "failed"]))

/** The answer to POST /payouts. */
export const payoutOutcome = (response: ProviderResponse, order: Own): Reading<PayoutOutcome> => {
  if (response._tag === "NotSent") return withoutAlarm({ _tag: "NotSent", note: response.note })
  const refused = refusal("payout", response)
  if (refused !== undefined) return refused
  const answer = decoded(PayoutAnswer, response)
  if (Option.isNone(answer)) return noAnswer(response)
  return outcomeOf("payout", answer.value.data.transaction, order)
}

/** The answer to POST /collections/momo. */
export const chargeOutcome = (response: ProviderResponse, order: ChargeOrder): Reading<ChargeOutcome> => {
  if (response._tag === "NotSent") return withoutAlarm({ _tag: "NotSent", note: response.note })
  const refused = refusal("collection", response)
  // Beside a code a refusal can mean the code, and nothing tells: the payer may try again. Our own account's fault it is in no case.
  if (refused !== undefined && order.otp !== null && refused.fact.kind !== "config")
    return withoutAlarm({ _tag: "CodeRejected", note: refused.fact.note })
  if (refused !== undefined) return refused
  const answer = decoded(MomoCollectionAnswer, response)
  if (Option.isNone(answer)) return noAnswer(response)
  const { data } = answer.value
  const reading = outcomeOf("collection", data, { reference: order.reference, currency: order.corridor.currency })
  const { fact } = reading
  const page = data.redirectUrl ?? data.redirect_url ?? data.authorizationUrl ?? data.paymentLink ?? null
  // Elsewhere a page is none to pay on: it may be the tenant's own address, echoed.
  if (fact._tag !== "Accepted" || order.corridor.customerAction !== "redirect") return reading
  if (page === null || page === order.redirectUrl || !isPage(page))
    return unreadable("it has to be paid on a page, and the answer names none", data.status)
  return withoutAlarm({ ...fact, _tag: "NeedsRedirect", redirectUrl: page })
}

const outcomeOf = (kind: Kind, wire: Wire, order: Own): Reading<PayoutOutcome> => {
  if (!isOurs(kind, wire, order.reference)) return unreadable("the answer is about another transaction", wire.status)
  const { alarm, fact } = standing(kind, wire, order.currency)
  switch (fact._tag) {
    case "StillPending": {
      const sum = sumOf(wire, order.currency)
      const { amount: observedAmount, currency: observedCurrency } = sum ?? { amount: null, currency: null }
      return withoutAlarm({
        _tag: "Accepted",
        providerReference: fact.providerReference,
        observedAmount,
        observedCurrency,
        note: fact.note
      })
    }
    // Delivered at once: the fee of a payment that is this fresh is not final (Eversend's own example says 0), so it is asked for.
    case "Succeeded": {
      const { amount: observedAmount, currency: observedCurrency, note, providerReference } = fact
      return withoutAlarm({ _tag: "Accepted", providerReference, observedAmount, observedCurrency, note })
    }
    case "Refused":
    case "Unknown":
      return { fact, alarm }
    default:
      return unreadable("a new payment is refunded already", wire.status)
  }
}

/** Refused by the HTTP status of a payout's own call. It is believed once a lookup by our reference has found nothing. */
export const isUnconfirmed = (fact: PayoutOutcome): fact is Refused =>
  fact._tag === "Refused" && fact.providerReference === null && fact.kind !== "config"

export const confirmed = confirmRefusal("a refused payment is there, and refunded")

/** The transaction as GET /transactions/{id} answers it; nothing when there is none, or not ours, under that identifier. */
export const foundById = (kind: Kind, order: StatusQuery, response: ProviderResponse): Reading<StatusOutcome> | undefined => {
  if (response._tag === "Answered" && response.status === 404) return undefined
  const answer = decoded(TransactionAnswer, response)
  if (Option.isNone(answer)) return noAnswer(response)
  const { data } = answer.value
  const listed = "transactions" in data ? data.transactions : [data]
  const own = listed.filter((wire) => isOurs(kind, wire, order.reference))
  return own[0] === undefined ? undefined : decisive(kind, own, order)
}

/** One page of GET /transactions: what it says about ours, or whether the list goes on. */
export const foundInPage = (
  kind: Kind,
  order: StatusQuery,
  response: ProviderResponse,
  pageSize: number
): Reading<StatusOutcome> | "ended" | "goes_on" => {
  const answer = decoded(TransactionsAnswer, response)
  if (Option.isNone(answer)) return noAnswer(response)
  const { transactions } = answer.value.data
  const own = transactions.filter((wire) => wire.transactionRef === order.reference && isOurs(kind, wire, order.reference))
  if (own.length > 0) return decisive(kind, own, order)
  return transactions.length < pageSize ? "ended" : "goes_on"
}

// Two executions of one reference: whatever they say, the money moved twice or may have.
const decisive = (kind: Kind, own: ReadonlyArray<Wire>, order: StatusQuery): Reading<StatusOutcome> => {
  const [first] = own
  if (first === undefined) return unreadable("nothing was found", "")
  const several = own.some((wire) => wire.transactionId !== first.transactionId)
  return several
    ? unreadable("Eversend has more than one transaction by one reference", first.status)
    : standing(kind, first, order.currency)
}

const isOurs = (kind: Kind, wire: Wire, reference: string): boolean =>
  (wire.transactionRef ?? reference) === reference && (wire.type ?? kind) === kind

const standing = (kind: Kind, wire: Wire, stored: Currency): Reading<StatusOutcome> => {
  const providerReference = wire.transactionId
  const { status } = wire
  const note = `status ${status}`
  if (!isStatus(status)) return unreadable("the status has no meaning here", status)
  switch (status) {
    case "pending":
      // Sent back before it was delivered, or only about to be: nothing says which.
      if (wire.isRefunded === true) return unreadable("refunded while pending", status)
      return withoutAlarm({ _tag: "StillPending", providerReference, note })
    case "failed":
      return refusedBy(failureBy(kind, wire.reason), providerReference, note)
    case "successful": {
      const sum = sumOf(wire, stored)
      const exchanged = kind === "exchange" ? broughtBy(wire.destinationAmount, wire.destinationCurrency) : null
      if (sum === undefined || exchanged === undefined)
        return unreadable("the amount, the fee or the currency cannot be read", status)
      const brought = exchanged === null ? {} : { exchanged }
      if (wire.isRefunded !== true) return withoutAlarm({ _tag: "Succeeded", providerReference, ...sum, ...brought, note })
      // Whether a fee came back is not said, so none is given back.
      return withoutAlarm({
        _tag: "Returned",
        amount: sum.amount,
        currency: sum.currency,
        fee: ZERO,
        charged: sum.fee,
        at: instant(wire.updatedAt),
        note: `${note}, refunded`
      })
    }
  }
}

interface Sum {
  readonly amount: MinorUnits
  readonly currency: Currency | null
  readonly fee: MinorUnits | null
}

/**
 * `amount` is the principal without `fees`, both in `currency`: for a payout the currency of the wallet that it left, whatever the
 * recipient got (`destinationAmount`). A fee finer than the currency is rounded up, as it was when it was held.
 */
const sumOf = (wire: Wire, stored: Currency): Sum | undefined => {
  const named = wire.currency ?? wire.sourceCurrency ?? null
  if ((named !== null && !isCurrency(named)) || wire.amount === undefined) return undefined
  const currency = named ?? stored
  const amount = fromDecimal(wire.amount, currency)
  const fees = wire.fees ?? null
  const fee = fees === null ? Result.succeed(null) : fromDecimalUp(fees, currency)
  return Result.isFailure(amount) || Result.isFailure(fee)
    ? undefined
    : { amount: amount.success, currency: named, fee: fee.success }
}

/** What an exchange brought: floored to its currency, and as Eversend wrote it. */
export const broughtBy = (raw: string | null | undefined, currency: string | null | undefined) => {
  if (raw === null || raw === undefined || !isCurrency(currency)) return undefined
  const amount = fromDecimalDown(raw, currency)
  return Result.isFailure(amount) ? undefined : { amount: amount.success, currency, raw }
}

const instant = (text: string | undefined): number | null =>
  text === undefined ? null : Option.getOrNull(Option.map(DateTime.make(text), DateTime.toEpochMillis))

const isPage = (text: string): boolean => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)

/** A definite refusal by its HTTP status. A page is somebody else's, such as a firewall's: Eversend refuses in JSON. */
export const refusal = (kind: Kind, response: ProviderResponse): Reading<Refused> | undefined => {
  if (response._tag !== "Answered") return undefined
  const known = refusals[kind].get(response.status)
  return known === undefined || Option.isNone(exactJson(response)) ? undefined : refusedBy(known, null, `HTTP ${response.status}`)
}
