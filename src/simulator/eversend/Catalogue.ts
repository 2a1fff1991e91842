import { type Currency, isCurrency } from "../../domain/Currency.ts"
import type { PayoutMethod } from "../Fees.ts"

export interface ServedCountry {
  readonly country: string
  readonly name: string
  readonly currency: Currency
  readonly phonePrefix: string
  readonly collects: boolean
  readonly pays: ReadonlyArray<PayoutMethod>
}

const served = (
  country: string,
  name: string,
  currency: Currency,
  phonePrefix: string,
  collects: boolean,
  ...pays: ReadonlyArray<PayoutMethod>
): ServedCountry => ({ country, name, currency, phonePrefix, collects, pays })

/** Every corridor that the gateway starts with, active there or not. */
export const servedCountries: ReadonlyArray<ServedCountry> = [
  served("UG", "Uganda", "UGX", "+256", true, "wallet", "momo", "bank"),
  served("KE", "Kenya", "KES", "+254", true, "wallet", "momo", "bank"),
  served("RW", "Rwanda", "RWF", "+250", true, "wallet", "momo"),
  served("GH", "Ghana", "GHS", "+233", true, "wallet", "momo", "bank"),
  served("NG", "Nigeria", "NGN", "+234", false, "wallet", "bank"),
  served("ZM", "Zambia", "ZMW", "+260", true, "momo"),
  served("TZ", "Tanzania", "TZS", "+255", true, "wallet", "momo"),
  served("CM", "Cameroon", "XAF", "+237", true, "momo"),
  served("CI", "Cote d'Ivoire", "XOF", "+225", true, "momo"),
  served("BF", "Burkina Faso", "XOF", "+226", true, "momo")
]

export const servedCountry = (country: string): ServedCountry | undefined =>
  servedCountries.find((one) => one.country === country)

export const countryOfPhone = (phone: string): ServedCountry | undefined =>
  servedCountries.find(({ phonePrefix }) => phone.startsWith(phonePrefix))

/** E.164 with its plus sign, and the country's prefix. */
export const isPhoneOf = ({ phonePrefix }: ServedCountry, phone: string): boolean =>
  /^\+\d{8,15}$/.test(phone) && phone.startsWith(phonePrefix)

/** Where a wallet's money is said to come from. */
export const homeOf = (currency: Currency): string =>
  servedCountries.find((one) => one.currency === currency)?.country ?? currency.slice(0, 2)

export const currencyOf = (text: string): Currency | undefined => (isCurrency(text) ? text : undefined)

const minimums: Readonly<Record<string, Partial<Record<PayoutMethod, bigint>>>> = { UG: { bank: 10_000n, momo: 500n } }

/** The least that a destination accepts, minor units of its own currency. */
export const payoutMinimum = (country: string, method: PayoutMethod): bigint => minimums[country]?.[method] ?? 1n

/** Eversend's word for the provider's own wallet is its name. */
export const methodOfType = { momo: "momo", bank: "bank", eversend: "wallet" } as const

export const typeOfMethod = { momo: "momo", bank: "bank", wallet: "eversend" } as const

interface Bank {
  readonly country: string
  readonly id: string
  readonly code: string
  readonly name: string
  readonly active: boolean
}

const bank = (country: string, code: string, name: string, active = true): Bank => ({
  country,
  id: `${country}${code}`,
  code,
  name,
  active
})

const banks: ReadonlyArray<Bank> = [
  bank("UG", "0000", "Default Bank"),
  bank("UG", "01", "Stanbic Bank Uganda"),
  bank("UG", "16", "Centenary Bank"),
  bank("UG", "99", "Closed Bank Uganda", false),
  bank("KE", "01", "Kenya Commercial Bank"),
  bank("KE", "68", "Equity Bank Kenya"),
  bank("KE", "99", "Closed Bank Kenya", false),
  bank("GH", "040100", "GCB Bank"),
  bank("GH", "130100", "Ecobank Ghana"),
  bank("NG", "14", "Access Bank"),
  bank("NG", "058", "Guaranty Trust Bank"),
  bank("NG", "999", "Closed Bank Nigeria", false)
]

export const banksOf = (country: string): ReadonlyArray<Bank> => banks.filter((one) => one.country === country)

export const isPayableBank = (country: string, code: string): boolean =>
  banksOf(country).some((one) => one.active && one.code === code)
