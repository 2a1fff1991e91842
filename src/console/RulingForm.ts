import { Result } from "effect"
import type { Currency } from "../domain/Currency.ts"
import type { LedgerRecord } from "../domain/Exchange.ts"
import { fromDecimal, type MinorUnits } from "../domain/Money.ts"
import type { Resolution } from "../domain/Resolution.ts"

const LONGEST_EVIDENCE = 500

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
  const currency = record.kind === "exchange" ? record.destinationCurrency : record.currency
  const [amount, fee] = [amountOf(form.get("amount"), currency), amountOf(form.get("fee"), record.currency)]
  if (amount === undefined || fee === undefined) return "An amount is written as 1,000 or 12.50."
  return { resolution: { outcome, evidence, amount, fee }, seen: BigInt(seen) }
}

/** Null where nothing is said; undefined where it is no amount. */
const amountOf = (text: string | null, currency: Currency): MinorUnits | null | undefined => {
  const given = text?.trim().replaceAll(",", "") ?? ""
  return given === "" ? null : Result.getOrUndefined(fromDecimal(given, currency))
}
