import { Option, Result, Schema } from "effect"
import { maskedName, maskedNumber } from "./Masking.ts"
import { numberOf, spellingsOf } from "./Msisdn.ts"
import { accountIdentity, deniedIdentity, nameIdentity, plainText, sortedWords, withoutAccents } from "./PartyIdentity.ts"

/** The refusal that a row stands for: a destination of payouts, or a number or a name that screening denies. */
export const DenylistKind = Schema.Literals(["destination", "screened_number", "screened_name"])
export type DenylistKind = typeof DenylistKind.Type

/** One row as an operator sees it: the value itself is kept as a keyed HMAC only. */
export const DenylistEntry = Schema.Struct({
  kind: DenylistKind,
  masked: Schema.String,
  reason: Schema.String,
  createdAt: Schema.Number
})
export type DenylistEntry = typeof DenylistEntry.Type

/** An operator's description of a value. */
export interface DeniedAs {
  /** Of a national number. */
  readonly country: string | null
  /** Whether it is an account's number, and no phone's. */
  readonly isAccount: boolean
}

/** The spelling that the list keeps of a value; or the reason why the entry would match no party, or would be ambiguous. */
export const newDenial = (kind: DenylistKind, value: string, { country, isAccount }: DeniedAs): Result.Result<string, string> => {
  if (!/[\p{L}\p{N}]/u.test(plainText(value))) return Result.fail("the value has no letter and no digit: it would deny nobody")
  if (kind === "screened_name") return Result.succeed(value)
  const spelling = isAccount ? accountIdentity(value) : deniedIdentity(value, country)
  if (isAccount || Option.isSome(numberOf(value, country))) return Result.succeed(spelling)
  const plain = plainText(value)
  if (NUMBER.test(plain)) return Result.fail(AMBIGUOUS)
  return country === null ? Result.succeed(spelling) : Result.fail(`the value is no phone number of ${country}`)
}
const NUMBER = /^[\p{Nd}\p{Pd}\s+.()/]+$/u
const AMBIGUOUS =
  "the value is no phone number with its country's prefix: add --country for a national number, or --account where it is the number of an account"

/** The spelling under which a value is looked for first. */
export const deniedSpelling = (kind: DenylistKind, value: string): string =>
  kind === "screened_name" ? nameIdentity(value) : deniedIdentity(value)

/** The spellings under which a value may be kept: rows of earlier releases have another one, and only who is looked up can be spelled so again. */
export const deniedSpellings = (kind: DenylistKind, value: string): ReadonlyArray<string> => [
  ...new Set(
    kind === "screened_name"
      ? [nameIdentity(value), earlierName(value)]
      : [deniedIdentity(value), accountIdentity(value), ...earlierNumbers(value)]
  )
]

const MAY_BE_A_NUMBER = /^\+?[\d\s().-]{4,}$/

/** A phone's number was kept as it was written. National ones are looked for, too: a person too many is denied rather than one too few. */
const earlierNumbers = (value: string): ReadonlyArray<string> => [
  MAY_BE_A_NUMBER.test(value.trim()) ? value.replace(/\D/g, "") : value.trim().toLowerCase(),
  ...(value.startsWith("+") ? spellingsOf(value) : [])
]

const earlierName = (value: string): string => sortedWords(withoutAccents(value).toLowerCase())

/** How a list shows it. */
export const maskedEntry = (kind: DenylistKind, value: string): string =>
  kind === "screened_name" ? maskedName(value) : maskedNumber(deniedIdentity(value))
