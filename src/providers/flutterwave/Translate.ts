import { Option, Result } from "effect"
import type { Reported } from "../../domain/CallbackReport.ts"
import type { Currency } from "../../domain/Currency.ts"
import { type MinorUnits, minor } from "../../domain/Money.ts"
import type { ChargeOrder, ChargeOutcome, PayoutOutcome, StatusOutcome } from "../../services/ports/Provider.ts"
import { decoded, type FactWithAlarm, unreadable, withoutAlarm } from "../AnswerParsing.ts"
import {
  asAccepted,
  type ExpectedTransaction,
  isPage,
  type MoneyCallAnswer,
  moneyCallAnswer,
  nothingObserved,
  onceNotFound
} from "../Movements.ts"
import { answerBy, isOtherParty, majorUnits, type Shown, sumOf, vocabulary } from "../ProviderStatus.ts"
import { notPaid } from "../Refusals.ts"
import type { ProviderResponse } from "../Transport.ts"
import { failureOf, identity, refusal, refusalStatus, unprovenRefusal, usedReference } from "./Refusals.ts"
import { ChargeAnswer, type Transaction, type Transfer, TransferAnswer, TransfersAnswer, VerifyAnswer } from "./Wire.ts"

type Charge = typeof Transaction.Type
type Payout = typeof Transfer.Type

const { readAsUnknown } = identity

const meaningOf = vocabulary({
  // `success-pending-validation`: the code or the prompt is outstanding.
  pending: ["pending", "success-pending-validation"],
  successful: ["successful"],
  failed: ["failed"]
})
// The payer left, or a call failed. These statuses do not exclude a later payment.
const unfinished: ReadonlySet<string> = new Set(["cancelled", "abandoned", "error"])

export const chargeMeaning = (status: string): Reported | undefined => (unfinished.has(status) ? "pending" : meaningOf(status))
/** In a list of a past day, an unfinished charge moved nothing. */
export const chargeLineMeaning = (status: string): Reported | undefined => (unfinished.has(status) ? "failed" : meaningOf(status))

export const transferMeaning = vocabulary({ pending: ["NEW", "PENDING"], successful: ["SUCCESSFUL"], failed: ["FAILED"] })

/** The response to POST /charges. */
export const chargeOutcome = (response: ProviderResponse, order: ChargeOrder): MoneyCallAnswer<ChargeOutcome> =>
  moneyCallAnswer<typeof ChargeAnswer.Type, ChargeOutcome>(response, {
    refused: onceNotFound(refusal(response), unprovenRefusal(response)),
    schema: ChargeAnswer,
    readAsUnknown,
    read: ({ data, meta }) => {
      const page = meta?.authorization?.redirect ?? meta?.authorization?.redirect_url ?? null
      if (page !== null && isPage(page)) {
        // There is no identifier yet, and a query finds nothing until the payer opens the page. Our own reference serves as the
        // handle, so that a charge that waits for its payer does not count as one that never left.
        const providerReference = data?.id ?? order.reference
        return withoutAlarm({
          _tag: "NeedsRedirect",
          providerReference,
          redirectUrl: page,
          ...nothingObserved,
          note: "a page to visit"
        })
      }
      if (data === null || data === undefined) return unreadable("a new charge has neither an identifier nor a page", "")
      return opened(shownCharge(data, order.reference, data.tx_ref ?? order.reference), data, order.corridor.currency)
    }
  })

/** The response to POST /transfers. */
export const payoutOutcome = (
  response: ProviderResponse,
  { currency, reference }: ExpectedTransaction
): MoneyCallAnswer<PayoutOutcome> =>
  moneyCallAnswer(response, {
    refused: onceNotFound(refusal(response), usedReference(response)),
    schema: TransferAnswer,
    readAsUnknown,
    read: ({ data }) => opened(shownTransfer(data, reference, data.reference ?? reference), data, currency)
  })

/** A new transfer. One that succeeds at once is polled, because only then its fee and amount are final. */
const opened = (
  shown: Shown,
  { amount, currency }: Pick<Charge, "amount" | "currency">,
  stored: Currency
): FactWithAlarm<PayoutOutcome> => {
  const observed = currency === stored ? Result.getOrElse(majorUnits.exact(amount, stored), () => null) : null
  return asAccepted(
    answerBy({ ...shown, standing: shown.standing === "successful" ? "pending" : shown.standing }),
    observed === null ? nothingObserved : { observedAmount: observed, observedCurrency: stored }
  )
}

/** GET /transactions/verify_by_reference */
export const chargeFound = (
  response: ProviderResponse,
  { currency, reference }: ExpectedTransaction
): FactWithAlarm<StatusOutcome> => {
  const status = refusalStatus(response)
  if (status === 400 || status === 404) return withoutAlarm({ _tag: "NotFound", note: "no charge by our reference" })
  const answer = decoded(VerifyAnswer, response)
  if (Option.isNone(answer)) return readAsUnknown(response)
  const { data } = answer.value
  return inStoredCurrency(answerBy(shownCharge(data, reference, data.tx_ref)), currency)
}

/** GET /transfers?reference=… */
export const transferFound = (
  response: ProviderResponse,
  { currency, party, reference }: ExpectedTransaction
): FactWithAlarm<StatusOutcome> => {
  const answer = decoded(TransfersAnswer, response)
  if (Option.isNone(answer)) return readAsUnknown(response)
  const [first, ...more] = answer.value.data
  if (first === undefined) return withoutAlarm({ _tag: "NotFound", note: "no transfer by our reference" })
  // An unfiltered list proves nothing about what it lacks. Two transfers mean that the money has moved twice, or may have.
  if ([first, ...more].some((one) => one.reference !== reference)) return unreadable("other transfers are listed", first.status)
  if (more.some((one) => one.id !== first.id)) return unreadable("there is more than one transfer by one reference", first.status)
  const isOfAnother = isOtherParty(party, first.account_number)
  return inStoredCurrency(answerBy({ ...shownTransfer(first, reference, first.reference), isOfAnother }), currency)
}

/** Settlement decides about another currency; this raises the alarm. */
const inStoredCurrency = ({ alarm, fact }: FactWithAlarm<StatusOutcome>, stored: Currency): FactWithAlarm<StatusOutcome> => ({
  fact,
  alarm: fact._tag === "Succeeded" && fact.currency !== stored ? "Flutterwave names another currency than was asked for" : alarm
})

type Named = string | null | undefined

const shownCharge = (charge: Charge, own: string, named: Named): Shown => ({
  ...shownBy(charge, own === named),
  kind: "collection",
  standing: chargeMeaning(charge.status),
  isUnfinished: unfinished.has(charge.status),
  sum: chargeSum(charge),
  refusal: notPaid
})

const shownTransfer = (transfer: Payout, own: string, named: Named): Shown => {
  const sum = transferSum(transfer)
  return {
    ...shownBy(transfer, own === named),
    kind: "payout",
    standing: transferMeaning(transfer.status),
    // Flutterwave names the fee of every completed transfer.
    sum: sum?.fee === null ? undefined : sum,
    refusal: failureOf(transfer)
  }
}

const shownBy = ({ id, status }: Pick<Charge, "id" | "status">, isOurs: boolean) => ({
  isOurs,
  status,
  providerReference: id,
  note: `status ${status}`
})

/** A charge's net amount: less Flutterwave's fee and the tax on it. A part finer than the currency belongs to the fee. */
export const chargeSum = ({ amount, amount_settled, app_fee: fee, currency }: Charge): ReturnType<typeof sumOf> => {
  const sum = sumOf({ amount, currency })
  const settled = amount_settled ?? null
  // No fee takes the whole amount: a charge with nothing left is not settled yet.
  if (sum === undefined || settled === null || /^0*(\.0*)?$/.test(settled)) return sumOf({ amount, currency, fee })
  const left = majorUnits.down(settled, sum.currency)
  if (Result.isFailure(left) || left.success > sum.amount) return undefined
  return { ...sum, fee: between(sum.amount, left.success) }
}

const between = (whole: MinorUnits, left: MinorUnits): MinorUnits => minor(whole - left)

export const transferSum = ({ amount, currency, fee }: Payout): ReturnType<typeof sumOf> => sumOf({ amount, currency, fee })
