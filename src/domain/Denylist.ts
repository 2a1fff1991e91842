import { Schema } from "effect"
import { maskedName, maskedNumber } from "./Masking.ts"

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

const MAY_BE_A_NUMBER = /^\+?[\d\s().-]{4,}$/

/** A number, an account or a handle in one spelling: "+256 772-123456" and "256772123456" are the same, "Jane@Example.com" is lower case. */
export const normalizedNumber = (value: string): string =>
  MAY_BE_A_NUMBER.test(value.trim()) ? value.replace(/\D/g, "") : value.trim().toLowerCase()

/** A name in one spelling: without accents, case, punctuation and the order of its words. */
export const normalizedName = (value: string): string =>
  value
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "")
    .sort()
    .join(" ")

/** How a list shows it. */
export const maskedEntry = (kind: DenylistKind, value: string): string =>
  kind === "screened_name" ? maskedName(value) : maskedNumber(normalizedNumber(value))
