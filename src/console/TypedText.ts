import { Result } from "effect"
import { type Currency, exponents } from "../domain/Currency.ts"
import { fromDecimal, LARGEST_AMOUNT, type MinorUnits } from "../domain/Money.ts"
import { amountText } from "./Elements.ts"

/** Characters that are invisible and not spaces: a text that contains one is not what it looks like. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]/u

/** One line that a person typed, trimmed; null where it is empty, too long, or contains an invisible character. */
export const lineOf = (text: string | null, maxLength: number): string | null => {
  const line = text?.trim() ?? ""
  return line === "" || line.length > maxLength || UNSEEN.test(line) ? null : line
}

/** Commas may only separate thousands: "12,50" and "1.000" mean something else in other countries. */
const WRITTEN = /^(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.(\d+))?$/

/** An amount in major units, as a person writes it. Null for an empty field; undefined where it is no amount of this currency. */
export const amountOf = (text: string | null, currency: Currency): MinorUnits | null | undefined => {
  const given = text?.trim() ?? ""
  if (given === "") return null
  const [whole, decimals = ""] = WRITTEN.exec(given) ?? []
  if (whole === undefined || decimals.length > exponents[currency]) return undefined
  return Result.getOrUndefined(fromDecimal(whole.replaceAll(",", ""), currency))
}

export const notAnAmount = (currency: Currency): string => {
  const largest = `and the largest is ${amountText(LARGEST_AMOUNT, currency)}`
  return exponents[currency] === 0
    ? `An amount of ${currency} is written as 1,000: it has no decimals, ${largest}.`
    : `An amount of ${currency} is written as 1,000 or 1,000.50: it has at most ${exponents[currency]} decimals, ${largest}.`
}
