import { Option, Result } from "effect"
import { type Currency, isCurrency } from "../../domain/Currency.ts"
import { fromDecimal, fromDecimalDown, fromDecimalUp, type MinorUnits, minor } from "../../domain/Money.ts"
import type { ChargeOrder, ChargeOutcome, PayoutOutcome, StatusOutcome, StatusQuery } from "../../services/ports/Provider.ts"
import {
  confirmRefusal,
  decoded,
  type ProviderRefusal,
  type Reading,
  type Refused,
  refusedBy,
  unreadable,
  withoutAlarm
} from "../Reading.ts"
import type { ProviderResponse } from "../Transport.ts"
import { noAnswer, refusalStatus } from "./Reading.ts"
import { failureOf, notPaid, refusal } from "./Refusals.ts"
import { ChargeAnswer, type Transaction, type Transfer, TransferAnswer, TransfersAnswer, VerifyAnswer } from "./Wire.ts"

type Charge = typeof Transaction.Type
type Payout = typeof Transfer.Type
type Own = Pick<StatusQuery, "reference" | "currency">

type Standing = "pending" | "successful" | "failed"

// Flutterwave's whole vocabulary. What is not here is not understood, and never a failure.
const charges: ReadonlyMap<string, Standing> = new Map([
  ["pending", "pending"],
  ["successful", "successful"],
  ["failed", "failed"]
])
const transfers: ReadonlyMap<string, Standing> = new Map([
  ["NEW", "pending"],
  ["PENDING", "pending"],
  ["SUCCESSFUL", "successful"],
  ["FAILED", "failed"]
])

export const chargeStanding = (status: string): Standing | undefined => charges.get(status)
export const transferStanding = (status: string): Standing | undefined => transfers.get(status)

/** The answer to POST /charges. */
export const chargeOutcome = (response: ProviderResponse, order: ChargeOrder): Reading<ChargeOutcome> => {
  if (response._tag === "NotSent") return withoutAlarm({ _tag: "NotSent", note: response.note })
  const refused = refusal(response)
  if (refused !== undefined) return refused
  const answer = decoded(ChargeAnswer, response)
  if (Option.isNone(answer)) return noAnswer(response)
  const { data, meta } = answer.value
  const page = meta?.authorization?.redirect ?? meta?.authorization?.redirect_url ?? null
  if (page !== null && isPage(page)) {
    // There is no identifier yet, and a query finds nothing until the page was visited. Our own reference stands for the handle, so that
    // nobody takes a charge that waits for its payer for one that never left.
    const providerReference = data?.id ?? order.reference
    const nothing = { observedAmount: null, observedCurrency: null, note: "a page to visit" }
    return withoutAlarm({ _tag: "NeedsRedirect", providerReference, redirectUrl: page, ...nothing })
  }
  if (data === null || data === undefined) return unreadable("a new charge has neither an identifier nor a page", "")
  if (!isOurs(data.tx_ref, order.reference)) return unreadable("the answer is about another charge", data.status)
  return opened(chargeStanding(data.status), data, order.corridor.currency, notPaid)
}

/** The answer to POST /transfers. */
export const payoutOutcome = (response: ProviderResponse, order: Own): Reading<PayoutOutcome> => {
  if (response._tag === "NotSent") return withoutAlarm({ _tag: "NotSent", note: response.note })
  const refused = refusal(response)
  if (refused !== undefined) return refused
  const answer = decoded(TransferAnswer, response)
  if (Option.isNone(answer)) return noAnswer(response)
  const { data } = answer.value
  if (!isOurs(data.reference, order.reference)) return unreadable("the answer is about another transfer", data.status)
  return opened(transferStanding(data.status), data, order.currency, failureOf(data))
}

/** What was just made. One that is successful at once is asked for: its fee and amount are then final. */
const opened = (
  standing: Standing | undefined,
  { amount, currency, id, status }: Pick<Charge, "id" | "status" | "amount" | "currency">,
  stored: Currency,
  failure: ProviderRefusal
): Reading<PayoutOutcome> => {
  if (standing === undefined) return unreadable("the status has no meaning here", status)
  const note = `status ${status}`
  if (standing === "failed") return refusedBy(failure, id, note)
  const observed = Result.getOrElse(fromDecimal(amount, stored), () => null)
  const isReadable = currency === stored && observed !== null
  return withoutAlarm({
    _tag: "Accepted",
    providerReference: id,
    observedAmount: isReadable ? observed : null,
    observedCurrency: isReadable ? stored : null,
    note
  })
}

/** Refused by the HTTP status of the transfer's own call: a reference that is there already is refused like that too. */
export const isUnconfirmed = (fact: PayoutOutcome): fact is Refused =>
  fact._tag === "Refused" && fact.providerReference === null && fact.kind !== "config"

export const confirmed = confirmRefusal("a refused transfer is there, and came back")

/** GET /transactions/verify_by_reference */
export const chargeFound = (response: ProviderResponse, { currency, reference }: Own): Reading<StatusOutcome> => {
  const status = refusalStatus(response)
  if (status === 400 || status === 404) return withoutAlarm({ _tag: "NotFound", note: "no charge by our reference" })
  const answer = decoded(VerifyAnswer, response)
  if (Option.isNone(answer)) return noAnswer(response)
  const { data } = answer.value
  if (data.tx_ref !== reference) return unreadable("the answer is about another charge", data.status)
  return standing(chargeStanding(data.status), data, chargeSum(data), currency, notPaid)
}

/** GET /transfers?reference=… */
export const transferFound = (response: ProviderResponse, { currency, reference }: Own): Reading<StatusOutcome> => {
  const answer = decoded(TransfersAnswer, response)
  if (Option.isNone(answer)) return noAnswer(response)
  const [first, ...more] = answer.value.data
  if (first === undefined) return withoutAlarm({ _tag: "NotFound", note: "no transfer by our reference" })
  // A list that was not filtered proves nothing about what is not in it, and two transfers moved the money twice or may have.
  if ([first, ...more].some((one) => one.reference !== reference)) return unreadable("other transfers are listed", first.status)
  if (more.some((one) => one.id !== first.id)) return unreadable("there is more than one transfer by one reference", first.status)
  return standing(transferStanding(first.status), first, transferSum(first), currency, failureOf(first))
}

const standing = (
  state: Standing | undefined,
  { currency, id, status }: Pick<Charge, "id" | "status" | "currency">,
  sum: Sum | undefined,
  stored: Currency,
  failure: ProviderRefusal
): Reading<StatusOutcome> => {
  const note = `status ${status}`
  switch (state) {
    case undefined:
      return unreadable("the status has no meaning here", status)
    case "pending":
      return withoutAlarm({ _tag: "StillPending", providerReference: id, note })
    case "failed":
      return refusedBy(failure, id, note)
    case "successful":
      if (sum === undefined || sum.fee === null) return unreadable("the amount, the fee or the currency cannot be read", status)
      return {
        fact: { _tag: "Succeeded", providerReference: id, ...sum, note },
        alarm: currency === stored ? null : "Flutterwave names another currency than was asked for"
      }
  }
}

interface Sum {
  readonly amount: MinorUnits
  readonly currency: Currency
  readonly fee: MinorUnits | null
}

/** What a charge leaves is less than its amount by Flutterwave's fee and the tax on it. What is finer than the currency is the fee's. */
export const chargeSum = ({ amount, amount_settled, app_fee, currency }: Charge): Sum | undefined => {
  if (!isCurrency(currency)) return undefined
  const whole = fromDecimal(amount, currency)
  if (Result.isFailure(whole)) return undefined
  const settled = amount_settled ?? null
  // No fee takes everything: a charge of which nothing is left is not settled yet.
  if (settled === null || /^0*(\.0*)?$/.test(settled)) return summed(amount, app_fee ?? null, currency)
  const left = fromDecimalDown(settled, currency)
  if (Result.isFailure(left) || left.success > whole.success) return undefined
  return { amount: whole.success, currency, fee: minor(whole.success - left.success) }
}

export const transferSum = ({ amount, currency, fee }: Payout): Sum | undefined =>
  isCurrency(currency) ? summed(amount, fee ?? null, currency) : undefined

/** A fee finer than the currency is rounded up, as it was when it was held. */
const summed = (amount: string, fee: string | null, currency: Currency): Sum | undefined => {
  const whole = fromDecimal(amount, currency)
  const charged = fee === null ? Result.succeed(null) : fromDecimalUp(fee, currency)
  return Result.isFailure(whole) || Result.isFailure(charged)
    ? undefined
    : { amount: whole.success, currency, fee: charged.success }
}

const isOurs = (named: string | null | undefined, reference: string): boolean => (named ?? reference) === reference

const isPage = (text: string): boolean => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
