import { Option, Result } from "effect"
import { type Currency, isCurrency } from "../../domain/Currency.ts"
import { type MinorUnits, ZERO } from "../../domain/Money.ts"
import type { ChargeOutcome, StatusOutcome, StatusQuery } from "../../services/ports/Provider.ts"
import { decoded, type Reading, type Refused, refusalOf, refusedBy, unreadable, withoutAlarm } from "../Reading.ts"
import type { ProviderResponse } from "../Transport.ts"
import { fromSubunits, fromSubunitsUp } from "./Amounts.ts"
import { errorOf, type NotFound, noAnswer, notAdmitted, notFound } from "./Reading.ts"
import { refusing } from "./TranslateTransfer.ts"
import { ChargeAnswer, type Transaction, TransactionAnswer, wireReference } from "./Wire.ts"

type Charge = (typeof ChargeAnswer.Type)["data"]
type Own = Pick<StatusQuery, "reference" | "currency">

/** The payer's voucher is still missing, and only we could bring it: nothing moves until then. */
export interface VoucherMissing {
  readonly _tag: "VoucherMissing"
  readonly note: string
}

type Meaning = "pending" | "redirect" | "voucher" | "other_code" | "paid" | "failed" | "abandoned" | "returned"

// Paystack's whole vocabulary for a charge. What is not here is not understood, and never a failure.
const meanings: ReadonlyMap<string, Meaning> = new Map([
  ["pay_offline", "pending"],
  ["pending", "pending"],
  ["ongoing", "pending"],
  ["processing", "pending"],
  ["queued", "pending"],
  ["open_url", "redirect"],
  ["send_otp", "voucher"],
  ["send_pin", "other_code"],
  ["send_phone", "other_code"],
  ["send_birthday", "other_code"],
  ["send_address", "other_code"],
  ["success", "paid"],
  ["failed", "failed"],
  ["abandoned", "abandoned"],
  ["timeout", "abandoned"],
  ["reversed", "returned"]
])

// Declined, no balance, no answer: only a text tells them apart.
const failure = refusalOf("other", "unknown", "The payment was not made; the provider does not say why.")
const unfinished = refusalOf("other", "timed_out", "The payer did not finish in time.")
const unasked = refusalOf(
  "other",
  "provider_rejected",
  "The provider asks the payer for something that the gateway cannot pass on."
)
const refusals = { other_code: unasked, failed: failure, abandoned: unfinished } as const
const other = refusalOf("other", "provider_rejected", "The provider refused it.")

/** A charge that waits for a voucher and got none. */
export const withoutVoucher = (note: string): Reading<Refused> =>
  refusedBy(
    refusalOf(
      "other",
      "provider_rejected",
      "This network needs a voucher: the payer makes one on the phone, and it goes with a new collection as its otp."
    ),
    null,
    note
  )

/** The answer to POST /charge, to POST /charge/submit_otp, and to GET /charge/{reference} (the only one that finds nothing). */
export const chargeOutcome = (response: ProviderResponse, order: Own): Reading<ChargeOutcome | VoucherMissing> => {
  if (response._tag === "NotSent") return withoutAlarm({ _tag: "NotSent", note: response.note })
  const refused = refusal(response)
  if (refused !== undefined) return refused
  const answer = decoded(ChargeAnswer, response)
  return Option.isNone(answer) ? noAnswer(response) : placed(answer.value.data, order)
}

const refusal = (response: ProviderResponse): Reading<Refused> | undefined => {
  if (response._tag !== "Answered" || errorOf(response) === undefined) return undefined
  const { status } = response
  if (status === 401 || status === 403) return refusedBy(notAdmitted, null, `HTTP ${status}`)
  return refusing.has(status) ? refusedBy(other, null, `HTTP ${status}`) : undefined
}

/** The answer to the question after a charge that was refused: it may be there by an earlier arrival of the same request. */
export const chargeLooked = (response: ProviderResponse, order: Own): Reading<ChargeOutcome | VoucherMissing | NotFound> => {
  const absent = notFound(response)
  if (absent !== undefined) return absent
  const answer = decoded(ChargeAnswer, response)
  return Option.isNone(answer) ? noAnswer(response) : placed(answer.value.data, order)
}

const placed = (wire: Charge, order: Own): Reading<ChargeOutcome | VoucherMissing> => {
  const { status } = wire
  const note = `status ${status}`
  const providerReference = wire.id ?? null
  if (wire.reference !== wireReference(order.reference)) return unreadable("the answer is about another charge", status)
  const meaning = meanings.get(status)
  switch (meaning) {
    case undefined:
      return unreadable("the status has no meaning here", status)
    case "pending":
      return withoutAlarm({ _tag: "Accepted", providerReference, observedAmount: null, observedCurrency: null, note })
    case "voucher":
      return withoutAlarm({ _tag: "VoucherMissing", note })
    case "redirect": {
      const redirectUrl = wire.url ?? ""
      if (!isPage(redirectUrl)) return unreadable("it has to be paid on a page, and the answer names none", status)
      return withoutAlarm({
        _tag: "NeedsRedirect",
        providerReference,
        redirectUrl,
        observedAmount: null,
        observedCurrency: null,
        note
      })
    }
    case "paid":
      return paid(sumOf(wire), providerReference, status)
    case "other_code":
    case "failed":
    case "abandoned":
      return refusedBy(refusals[meaning], providerReference, note)
    case "returned":
      return unreadable("a new charge is reversed already", status)
  }
}

/** The answer to GET /transaction/verify/{reference}. */
export const chargeFound = (response: ProviderResponse, order: Own): Reading<StatusOutcome> => {
  const absent = notFound(response)
  if (absent !== undefined) return absent
  const answer = decoded(TransactionAnswer, response)
  return Option.isNone(answer) ? noAnswer(response) : standing(answer.value.data, order)
}

const standing = (wire: typeof Transaction.Type, order: Own): Reading<StatusOutcome> => {
  const { id: providerReference, status } = wire
  const note = `status ${status}`
  if (wire.reference !== wireReference(order.reference)) return unreadable("the answer is about another charge", status)
  const meaning = meanings.get(status)
  switch (meaning) {
    case undefined:
      return unreadable("the status has no meaning here", status)
    case "pending":
    case "redirect":
    case "voucher":
      return withoutAlarm({ _tag: "StillPending", providerReference, note })
    case "paid":
      return paid(sumOf(wire), providerReference, status)
    case "other_code":
    case "failed":
    case "abandoned":
      return refusedBy(refusals[meaning], providerReference, note)
    case "returned": {
      const sum = sumOf(wire)
      if (sum === undefined) return unreadable("the amount, the fees or the currency cannot be read", status)
      const { amount, currency, fee: charged } = sum
      return withoutAlarm({ _tag: "Returned", amount, currency, fee: ZERO, charged, at: null, note })
    }
  }
}

interface Sum {
  readonly amount: MinorUnits
  readonly currency: Currency
  readonly fee: MinorUnits | null
}

/** What was paid, and what Paystack keeps of it where it says so. */
const sumOf = ({ amount, currency, fees = null }: Pick<Charge, "amount" | "currency" | "fees">): Sum | undefined => {
  if (!isCurrency(currency) || amount === null || amount === undefined) return undefined
  const units = fromSubunits(amount, currency)
  const fee = fees === null ? Result.succeed(null) : fromSubunitsUp(fees, currency)
  return Result.isFailure(units) || Result.isFailure(fee) ? undefined : { amount: units.success, currency, fee: fee.success }
}

/** Without its fees a success cannot be booked: the float is credited net of them. */
const paid = (sum: Sum | undefined, providerReference: string | null, status: string) =>
  sum === undefined || sum.fee === null
    ? unreadable("the amount, the fees or the currency cannot be read", status)
    : withoutAlarm({ _tag: "Succeeded", providerReference, ...sum, note: `status ${status}` } as const)

const isPage = (text: string): boolean => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)

/** A charge in a statement. */
export const listedCharge = (status: string): "pending" | "successful" | "failed" | "returned" | undefined => {
  const meaning = meanings.get(status)
  return meaning === undefined ? undefined : listed[meaning]
}
const listed = {
  pending: "pending",
  redirect: "pending",
  voucher: "pending",
  other_code: "failed",
  paid: "successful",
  failed: "failed",
  abandoned: "failed",
  returned: "returned"
} as const satisfies Record<Meaning, string>
