import type { Rule } from "../ConfigRules.ts"
import type { Method } from "../domain/Corridor.ts"
import { type Currency, isCurrency } from "../domain/Currency.ts"
import { type MinorUnits, minor } from "../domain/Money.ts"

/**
 * What a provider charges by its contract, where its wire does not say so. A part of the amount in hundredths of a percent, rounded up, or
 * so many minor units of the currency.
 */
type Charge = { readonly basisPoints: bigint } | { readonly flat: bigint }

/** By currency and method. Where there is none the contract does not cover such a payout. */
export type PayoutFees = ReadonlyArray<{ readonly currency: Currency; readonly method: Method; readonly charge: Charge }>

const WHOLE = 10_000n

const chargeOf = (text: string): Charge | undefined => {
  if (/^\d{1,12}$/.test(text)) return { flat: BigInt(text) }
  const [, whole, fraction = ""] = /^(\d{1,2})(?:\.(\d{1,2}))?%$/.exec(text) ?? []
  return whole === undefined ? undefined : { basisPoints: BigInt(whole + fraction.padEnd(2, "0")) }
}

const isMethod = (text: string | undefined): text is Method => text === "momo" || text === "bank" || text === "wallet"

/** `UGX:momo:1000,KES:bank:1%` */
export const payoutFees: Rule<PayoutFees> = {
  meaning: "a comma list of fees such as UGX:momo:1000 (minor units) or KES:bank:1.5%",
  of: (value) => {
    const fees = value.split(",").flatMap((item) => {
      const [currency, method, text = "", ...more] = item.trim().split(":")
      const charge = chargeOf(text)
      return more.length === 0 && isCurrency(currency) && isMethod(method) && charge !== undefined
        ? [{ currency, method, charge }]
        : []
    })
    return fees.length === value.split(",").length ? fees : undefined
  }
}

/** `1.5%`, or minor units. */
export const collectionFee: Rule<Charge> = { meaning: "a percentage such as 1.5%, or minor units", of: chargeOf }

export type CollectionFee = Charge

export const feeOf = (charge: Charge, amount: MinorUnits): MinorUnits =>
  minor("flat" in charge ? charge.flat : (amount * charge.basisPoints + WHOLE - 1n) / WHOLE)

/** Undefined where the contract names none. */
export const payoutFeeOf = (fees: PayoutFees, currency: Currency, method: Method, amount: MinorUnits): MinorUnits | undefined => {
  const fee = fees.find((one) => one.currency === currency && one.method === method)
  return fee === undefined ? undefined : feeOf(fee.charge, amount)
}
