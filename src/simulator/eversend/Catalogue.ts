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

/** Every corridor that the gateway starts with, active there or not. */
export const servedCountries: ReadonlyArray<ServedCountry> = [
  { country: "UG", name: "Uganda", currency: "UGX", phonePrefix: "+256", collects: true, pays: ["wallet", "momo", "bank"] },
  { country: "KE", name: "Kenya", currency: "KES", phonePrefix: "+254", collects: true, pays: ["wallet", "momo", "bank"] },
  { country: "RW", name: "Rwanda", currency: "RWF", phonePrefix: "+250", collects: true, pays: ["wallet", "momo"] },
  { country: "GH", name: "Ghana", currency: "GHS", phonePrefix: "+233", collects: true, pays: ["wallet", "momo", "bank"] },
  { country: "NG", name: "Nigeria", currency: "NGN", phonePrefix: "+234", collects: false, pays: ["wallet", "bank"] },
  { country: "ZM", name: "Zambia", currency: "ZMW", phonePrefix: "+260", collects: true, pays: ["momo"] },
  { country: "TZ", name: "Tanzania", currency: "TZS", phonePrefix: "+255", collects: true, pays: ["wallet", "momo"] },
  { country: "CM", name: "Cameroon", currency: "XAF", phonePrefix: "+237", collects: true, pays: ["momo"] },
  { country: "CI", name: "Cote d'Ivoire", currency: "XOF", phonePrefix: "+225", collects: true, pays: ["momo"] },
  { country: "BF", name: "Burkina Faso", currency: "XOF", phonePrefix: "+226", collects: true, pays: ["momo"] }
]

export const servedCountry = (country: string): ServedCountry | undefined =>
  servedCountries.find((one) => one.country === country)

export const countryOfPhone = (phone: string): ServedCountry | undefined =>
  servedCountries.find(({ phonePrefix }) => phone.startsWith(phonePrefix))

/** E.164 with its plus sign, and the country's prefix. */
export const isPhoneOf = ({ phonePrefix }: ServedCountry, phone: string): boolean =>
  /^\+\d{8,15}$/.test(phone) && phone.startsWith(phonePrefix)

/** The country that a wallet's money is said to come from. */
export const homeOf = (currency: Currency): string =>
  servedCountries.find((one) => one.currency === currency)?.country ?? currency.slice(0, 2)

export const currencyOf = (text: string): Currency | undefined => (isCurrency(text) ? text : undefined)

const minimums: Readonly<Record<string, Partial<Record<PayoutMethod, bigint>>>> = { UG: { bank: 10_000n, momo: 500n } }

/** The least that a destination accepts, in minor units of its own currency. */
export const payoutMinimum = (country: string, method: PayoutMethod): bigint => minimums[country]?.[method] ?? 1n

/** Eversend calls its own wallet by its name. */
export const methodOfType = { momo: "momo", bank: "bank", eversend: "wallet" } as const

export const typeOfMethod = { momo: "momo", bank: "bank", wallet: "eversend" } as const

interface Bank {
  readonly country: string
  readonly code: string
  readonly name: string
  readonly active: boolean
}

const banks: ReadonlyArray<Bank> = [
  { country: "UG", code: "0000", name: "Default Bank", active: true },
  { country: "UG", code: "01", name: "Stanbic Bank Uganda", active: true },
  { country: "UG", code: "16", name: "Centenary Bank", active: true },
  { country: "UG", code: "99", name: "Closed Bank Uganda", active: false },
  { country: "KE", code: "01", name: "Kenya Commercial Bank", active: true },
  { country: "KE", code: "68", name: "Equity Bank Kenya", active: true },
  { country: "KE", code: "99", name: "Closed Bank Kenya", active: false },
  { country: "GH", code: "040100", name: "GCB Bank", active: true },
  { country: "GH", code: "130100", name: "Ecobank Ghana", active: true },
  { country: "NG", code: "14", name: "Access Bank", active: true },
  { country: "NG", code: "058", name: "Guaranty Trust Bank", active: true },
  { country: "NG", code: "999", name: "Closed Bank Nigeria", active: false }
]

export const banksOf = (country: string): ReadonlyArray<Bank> => banks.filter((one) => one.country === country)

export const isPayableBank = (country: string, code: string): boolean =>
  banksOf(country).some((one) => one.active && one.code === code)
