import { withoutUnseen } from "./VisibleText.ts"

/**
 * Whether a payment card's number is somewhere in a text, however its digits are grouped: 13 to 19 digits whose check digit holds. It begins and ends
 * where a group of digits does, so that an identifier is rarely taken for one; in more digits than any card has, any sixteen are looked at.
 */
export const holdsCard = (text: string): boolean =>
  Array.from(withoutUnseen(text.normalize("NFKC")).matchAll(GROUPS), ([run]) => run.split(NOT_DIGITS)).some(
    (groups) => groups.some(hasSixteen) || groups.some((_, at) => beginsCard(groups.slice(at, at + MOST_DIGITS)))
  )

const LEAST_DIGITS = 13
const MOST_DIGITS = 19
const GROUPS = /[0-9]+(?:[\p{Zs}\p{Pd}\t.]+[0-9]+)*/gu
const NOT_DIGITS = /[^0-9]+/

/** Whether the first of these groups, alone or with those that follow, make a card's number. */
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
