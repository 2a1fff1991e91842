import type { ComponentChild } from "preact"
import type { Currency } from "../domain/Currency.ts"
import type { LedgerRecord } from "../domain/Exchange.ts"
import { feeUnlessSaid } from "../domain/KnownFee.ts"
import type { MinorUnits } from "../domain/Money.ts"
import { type Resolution } from "../domain/Resolution.ts"
import type { Collection, Payout } from "../domain/Transaction.ts"
import { amountOf, notAnAmount } from "./AmountText.ts"
import { amountText, choice, field, words } from "./Elements.ts"

const LONGEST_EVIDENCE = 500

export const rulingOutcomes: ReadonlyArray<Resolution["outcome"]> = ["successful", "failed"]

/** What the form asks for. `rulingOf` reads it, with each amount in the currency that its label names. */
export const rulingFields = (record: LedgerRecord): ReadonlyArray<ComponentChild> => {
  const { amount, currency } = expectedAmount(record)
  return [
    choice("outcome", "What really happened", [["", "choose"], ...rulingOutcomes.map((one) => [one, one] as const)]),
    words({
      name: "evidence",
      label: "How that is known",
      hint: "For the history and the audit log, such as a line of the provider's statement."
    }),
    field({ name: "amount", label: `Amount, ${currency}, if another than ${amountText(amount, currency)}`, maxLength: 30 }),
    // An exchange has no fee beside its rate.
    record.kind === "exchange"
      ? null
      : field({ name: "fee", label: `Provider's fee, ${record.currency}, ${feeHint(record)}`, maxLength: 30 })
  ]
}

const feeHint = (record: Collection | Payout): string => {
  const fee = feeUnlessSaid(record)
  return fee === null
    ? "which the provider has not named: 0 where it took nothing"
    : `if another than ${amountText(fee, record.currency)}`
}

/** What a ruling books where nobody says another amount, in the currency that is booked. */
const expectedAmount = (record: LedgerRecord): { readonly amount: MinorUnits; readonly currency: Currency } => {
  switch (record.kind) {
    case "payout":
      return { amount: record.principal, currency: record.currency }
    case "collection": {
      // What was observed in another currency says nothing of the amount in ours.
      const isOurs = record.observedCurrency === null || record.observedCurrency === record.currency
      return { amount: (isOurs ? record.observedAmount : null) ?? record.amount, currency: record.currency }
    }
    case "exchange":
      return { amount: record.destinationAmount, currency: record.destinationCurrency }
  }
}

/** What the form of a ruling says, or one line on what is wrong with it. */
export const rulingOf = (
  form: URLSearchParams,
  record: LedgerRecord
): { readonly resolution: Resolution; readonly seen: bigint } | string => {
  const outcome = form.get("outcome")
  if (outcome !== "successful" && outcome !== "failed") return "Choose what really happened."
  const evidence = (form.get("evidence") ?? "").trim()
  if (evidence === "" || evidence.length > LONGEST_EVIDENCE)
    return `Say how that is known, in at most ${LONGEST_EVIDENCE} characters.`
  const seen = form.get("seen") ?? ""
  if (!/^\d{1,18}$/.test(seen)) return "The form is not whole: read the page again."
  const { currency } = expectedAmount(record)
  const amount = amountOf(form.get("amount"), currency)
  if (amount === undefined) return notAnAmount(currency)
  const fee = amountOf(form.get("fee"), record.currency)
  if (fee === undefined) return notAnAmount(record.currency)
  return { resolution: { outcome, evidence, amount, fee }, seen: BigInt(seen) }
}
