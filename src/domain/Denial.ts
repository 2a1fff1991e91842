import { Schema } from "effect"
import { masked } from "./Party.ts"

/** What a row refuses: a destination that payouts may not go to, a number or a name that screening denies. */
export const DenialKind = Schema.Literals(["destination", "screened_number", "screened_name"])
export type DenialKind = typeof DenialKind.Type

/** One row as an operator sees it: the value itself is kept as a keyed HMAC only. */
export const Denial = Schema.Struct({ kind: DenialKind, masked: Schema.String, reason: Schema.String, createdAt: Schema.Number })
export type Denial = typeof Denial.Type

const MAY_BE_A_NUMBER = /^\+?[\d\s().-]{4,}$/

/** A number, an account or a handle in one spelling: "+256 772-123456" and "256772123456" are the same, "Jane@Example.com" is lower case. */
export const numberKey = (value: string): string =>
  MAY_BE_A_NUMBER.test(value.trim()) ? value.replace(/\D/g, "") : value.trim().toLowerCase()

/** A name in one spelling: without accents, case, punctuation and the order of its words. */
export const nameKey = (value: string): string =>
  value
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "")
    .sort()
    .join(" ")

/** How a list shows it. */
export const maskedDenial = (kind: DenialKind, value: string): string =>
  kind === "screened_name" ? maskedName(value) : masked(numberKey(value))

/** "J••• D••": the first letter of each word (contract BEN-2). */
export const maskedName = (name: string): string =>
  name
    .trim()
    .split(/\s+/)
    .map((word) => `${word.slice(0, 1)}${"•".repeat(Math.max(word.length - 1, 1))}`)
    .join(" ")
