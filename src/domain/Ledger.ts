import { Schema } from "effect"
import { Currency } from "./Currency.ts"
import { MinorUnits, minor, ZERO } from "./Money.ts"

/**
 * The accounts of one tenant, mode and currency. A claim of the tenant is positive; every entry sums to zero.
 * `available` and `reserved` are what the tenant has; the flow accounts are where it came from or went, with the sign
 * turned; `pool` and `drift` hold what a provider took beyond the fee that was held, which the gateway bears.
 */
export const Account = Schema.Literals([
  "available",
  "reserved",
  "collected",
  "paid_out",
  "provider_fees",
  "credited",
  "debited",
  "fx_in",
  "fx_out",
  "returned",
  "drift",
  "pool"
])
export type Account = typeof Account.Type

export const Posting = Schema.Struct({ currency: Currency, account: Account, amount: Schema.BigInt })
export type Posting = typeof Posting.Type

/** `settle` and `release` share the slot `close`, so that only one of them can ever exist for a transaction. */
export const slots = {
  credit: "open",
  debit: "open",
  reserve: "open",
  collect: "close",
  settle: "close",
  release: "close",
  return: "return",
  correct: "correction"
} as const
export const Phase = Schema.Literals(["credit", "debit", "reserve", "collect", "settle", "release", "return", "correct"])
export type Phase = typeof Phase.Type

/** One balanced entry. */
export const Entry = Schema.Struct({ phase: Phase, postings: Schema.Array(Posting) })
export type Entry = typeof Entry.Type

const entry = (phase: Phase, currency: Currency, lines: ReadonlyArray<readonly [Account, bigint]>): Entry => ({
  phase,
  postings: lines.filter(([, amount]) => amount !== 0n).map(([account, amount]) => ({ currency, account, amount }))
})

export const credit = (currency: Currency, amount: MinorUnits): Entry =>
  entry("credit", currency, [
    ["available", amount],
    ["credited", -amount]
  ])

export const debit = (currency: Currency, amount: MinorUnits): Entry =>
  entry("debit", currency, [
    ["available", -amount],
    ["debited", amount]
  ])

export const reserve = (currency: Currency, held: MinorUnits): Entry =>
  entry("reserve", currency, [
    ["available", -held],
    ["reserved", held]
  ])

export const release = (currency: Currency, held: MinorUnits): Entry =>
  entry("release", currency, [
    ["reserved", -held],
    ["available", held]
  ])

/** The tenant pays the smaller of the held and the actual fee; an unused hold returns; an excess is the gateway's drift. */
export const settle = (currency: Currency, principal: MinorUnits, heldFee: MinorUnits, actualFee: MinorUnits): Entry => {
  const charged = actualFee < heldFee ? actualFee : heldFee
  const excess = actualFee > heldFee ? actualFee - heldFee : 0n
  return entry("settle", currency, [
    ["reserved", -(principal + heldFee)],
    ["paid_out", principal],
    ["provider_fees", charged],
    ["available", heldFee - charged],
    ["drift", excess],
    ["pool", -excess]
  ])
}

export const collect = (currency: Currency, amount: MinorUnits, fee: MinorUnits): Entry =>
  entry("collect", currency, [
    ["available", amount - fee],
    ["collected", -amount],
    ["provider_fees", fee]
  ])

/** The principal that came back; the fee too where the provider returned it. */
export const giveBack = (currency: Currency, amount: MinorUnits, fee: MinorUnits): Entry =>
  entry("return", currency, [
    ["available", amount + fee],
    ["returned", -(amount + fee)]
  ])

/** A float position: the fold of a tenant's postings in one currency (interface.md, "Float position"). */
export const FloatPosition = Schema.Struct({
  currency: Currency,
  available: MinorUnits,
  reserved: MinorUnits,
  collected: MinorUnits,
  paidOut: MinorUnits,
  providerFees: MinorUnits
})
export type FloatPosition = typeof FloatPosition.Type

export const positionOf = (currency: Currency, postings: ReadonlyArray<Posting>): FloatPosition => {
  const sum = (account: Account): bigint =>
    postings.reduce((total, line) => (line.currency === currency && line.account === account ? total + line.amount : total), 0n)
  const nonNegative = (amount: bigint): MinorUnits => (amount === 0n ? ZERO : minor(amount))
  return {
    currency,
    available: nonNegative(sum("available")),
    reserved: nonNegative(sum("reserved")),
    collected: nonNegative(-sum("collected")),
    paidOut: nonNegative(sum("paid_out")),
    providerFees: nonNegative(sum("provider_fees"))
  }
}
