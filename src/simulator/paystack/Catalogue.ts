import type { Currency } from "../../domain/Currency.ts"

// The lists of the simulated Paystack, as its wire shows them.

interface ServedCountry {
  readonly iso: string
  readonly name: string
  readonly currency: string
  readonly callingCode: string
}

export const servedCountries: ReadonlyArray<ServedCountry> = [
  { iso: "NG", name: "Nigeria", currency: "NGN", callingCode: "+234" },
  { iso: "GH", name: "Ghana", currency: "GHS", callingCode: "+233" },
  { iso: "KE", name: "Kenya", currency: "KES", callingCode: "+254" },
  { iso: "CI", name: "Cote d'Ivoire", currency: "XOF", callingCode: "+225" },
  { iso: "ZA", name: "South Africa", currency: "ZAR", callingCode: "+27" }
]

/** The payer's action that a mobile money provider requires. */
type Prompt = "handset" | "voucher" | "page"

const prompts: Readonly<Record<string, Readonly<Record<string, Prompt>>>> = {
  GHS: { mtn: "handset", atl: "handset", vod: "voucher" },
  KES: { mpesa: "handset", atl: "handset" },
  XOF: { mtn: "handset", orange: "handset", wave: "page" }
}

// The form of a payer's number in each country's charges; a recipient's number is written as people there write it.
const phones: Readonly<Record<string, RegExp>> = { GHS: /^0\d{9}$/, KES: /^\+254\d{9}$/, XOF: /^\+225\d{10}$/ }

export const isPhone = (currency: Currency, phone: string): boolean => phones[currency]?.test(phone) === true

/** The currency of a charge that names none: here the currency of its mobile money provider. */
export const currencyOfProvider = (provider: string): string =>
  Object.keys(prompts).find((currency) => prompts[currency]?.[provider] !== undefined) ?? "NGN"

export const promptOf = (currency: Currency, provider: string): Prompt | undefined => prompts[currency]?.[provider]

interface SimulatedBank {
  readonly country: string
  readonly currency: string
  readonly type: "nuban" | "ghipss" | "kepss" | "mobile_money" | "mobile_money_business"
  readonly code: string
  readonly name: string
  readonly active: boolean
  readonly deleted: boolean
  readonly transfers: boolean
}

const banksIn = (
  place: Pick<SimulatedBank, "country" | "currency" | "type">,
  ...rows: ReadonlyArray<readonly [code: string, name: string, change?: Partial<SimulatedBank>]>
): ReadonlyArray<SimulatedBank> =>
  rows.map(([code, name, change]) => ({ ...place, code, name, active: true, deleted: false, transfers: true, ...change }))

export const banks: ReadonlyArray<SimulatedBank> = [
  ...banksIn(
    { country: "nigeria", currency: "NGN", type: "nuban" },
    ["044", "Access Bank"],
    ["058", "Guaranty Trust Bank"],
    ["14", "Access Bank (Diamond)"],
    ["999", "Closed Bank Nigeria", { active: false }],
    ["998", "Deleted Bank Nigeria", { deleted: true }],
    ["997", "Bank Without Transfers", { transfers: false }]
  ),
  ...banksIn({ country: "ghana", currency: "GHS", type: "ghipss" }, ["040100", "GCB Bank"], ["130100", "Ecobank Ghana"]),
  ...banksIn(
    { country: "ghana", currency: "GHS", type: "mobile_money" },
    ["MTN", "MTN"],
    ["ATL", "AirtelTigo"],
    ["VOD", "Telecel"]
  ),
  ...banksIn({ country: "kenya", currency: "KES", type: "kepss" }, ["01", "Kenya Commercial Bank"], ["68", "Equity Bank Kenya"]),
  ...banksIn({ country: "kenya", currency: "KES", type: "mobile_money" }, ["MPESA", "M-PESA"]),
  ...banksIn(
    { country: "kenya", currency: "KES", type: "mobile_money_business" },
    ["MPTILL", "M-PESA Till"],
    ["MPPAYBILL", "M-PESA Paybill"]
  )
]

const isPaid = ({ active, deleted, transfers }: SimulatedBank): boolean => active && !deleted && transfers

export const payableBank = (currency: string, type: string, code: string): SimulatedBank | undefined =>
  banks.find((one) => isPaid(one) && one.currency === currency && one.type === type && one.code === code)

/** Holders' names can be resolved in Nigeria and Ghana. */
export const isResolvableBank = (code: string): boolean =>
  banks.some((one) => isPaid(one) && one.code === code && (one.type === "nuban" || one.type === "ghipss"))
