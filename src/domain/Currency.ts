import { Schema } from "effect"

/** The currencies and the number of decimals of each (contract AMT-2). Any other currency has no exponent and is refused. */
export const exponents = {
  UGX: 0,
  RWF: 0,
  XAF: 0,
  XOF: 0,
  KES: 2,
  GHS: 2,
  NGN: 2,
  TZS: 2,
  ZMW: 2,
  USD: 2,
  EUR: 2,
  GBP: 2
} as const

export const Currency = Schema.Literals([
  "UGX",
  "RWF",
  "XAF",
  "XOF",
  "KES",
  "GHS",
  "NGN",
  "TZS",
  "ZMW",
  "USD",
  "EUR",
  "GBP"
]).annotate({
  identifier: "Currency",
  description: "A currency. UGX, RWF, XAF and XOF have no decimals; the others have two"
})
export type Currency = keyof typeof exponents

export const isCurrency = Schema.is(Currency)
