import { Schema } from "effect"
import { maskedName, maskedNumber } from "./Masking.ts"
import { deniedIdentity, nameIdentity, sortedWords, withoutAccents } from "./PartyIdentity.ts"

/** What a row of the denylist refuses: a destination that payouts may not go to, a number or a name that screening denies. */
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

/** The spelling under which a value is kept. */
export const deniedSpelling = (kind: DenylistKind, value: string): string =>
  kind === "screened_name" ? nameIdentity(value) : deniedIdentity(value)

/** The spellings under which a value may be kept: rows of earlier releases have another one, and only who is looked up can be spelled so again. */
export const deniedSpellings = (kind: DenylistKind, value: string): ReadonlyArray<string> => [
  ...new Set([deniedSpelling(kind, value), kind === "screened_name" ? earlierName(value) : earlierNumber(value)])
]

const MAY_BE_A_NUMBER = /^\+?[\d\s().-]{4,}$/
const earlierNumber = (value: string): string =>
  MAY_BE_A_NUMBER.test(value.trim()) ? value.replace(/\D/g, "") : value.trim().toLowerCase()

const earlierName = (value: string): string => sortedWords(withoutAccents(value).toLowerCase())

/** How a list shows it. */
export const maskedEntry = (kind: DenylistKind, value: string): string =>
  kind === "screened_name" ? maskedName(value) : maskedNumber(deniedIdentity(value))
