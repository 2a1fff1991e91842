import { withoutUnseen } from "./VisibleText.ts"

/**
 * Whether a text contains a payment card number, however its digits are grouped: 13 to 19 digits with a valid check digit. The
 * number has to begin and end where a group of digits does, so that an identifier is rarely mistaken for one. In a group with
 * more digits than any card has, every run of sixteen is checked.
 */
export const holdsCard = (text: string): boolean =>
  Array.from(withoutUnseen(text.normalize("NFKC")).matchAll(GROUPS), ([run]) => run.split(NOT_DIGITS)).some(
    (groups) => groups.some(hasSixteen) || groups.some((_, at) => beginsCard(groups.slice(at, at + MOST_DIGITS)))
  )

const LEAST_DIGITS = 13
const MOST_DIGITS = 19
const GROUPS = /[0-9]+(?:[\p{Zs}\p{Pd}\t.]+[0-9]+)*/gu
const NOT_DIGITS = /[^0-9]+/

/** Whether the first of these groups, alone or together with those that follow, makes a card number. */
const beginsCard = (groups: ReadonlyArray<string>): boolean => {
  let digits = ""
  for (const group of groups) {
    digits += group
    if (digits.length > MOST_DIGITS) return false
    if (digits.length >= LEAST_DIGITS && luhn(digits)) return true
  }
  return false
}

const hasSixteen = (group: string): boolean => {
  for (let at = 0; group.length > MOST_DIGITS && at + 16 <= group.length; at++) if (luhn(group.slice(at, at + 16))) return true
  return false
}

const luhn = (digits: string): boolean => {
  const sum = Array.from(digits, Number)
    .toReversed()
    .reduce((total, digit, at) => total + (at % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2), 0)
  return sum % 10 === 0
}
