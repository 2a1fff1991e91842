import { type Currency } from "../../domain/Currency.ts"

interface ChargeType {
  readonly currencies: ReadonlyArray<Currency>
  /** Of the phones that can be charged. */
  readonly prefixes: ReadonlyArray<string>
  /** The values of `network`, which may be absent. */
  readonly networks: ReadonlyArray<string>
  readonly required: ReadonlyArray<"order_id" | "country">
  /** The payer has to visit a page. */
  readonly redirects: boolean
  readonly authModel: string
  readonly paymentType: string
}

const prompt = { required: [], redirects: false } as const
const page = { required: [], redirects: true, authModel: "MOBILEMONEY" } as const

const types: Readonly<Record<string, ChargeType>> = {
  mobile_money_uganda: {
    ...page,
    currencies: ["UGX"],
    prefixes: ["256"],
    networks: ["MTN", "AIRTEL"],
    paymentType: "mobilemoneyug"
  },
  mobile_money_ghana: {
    ...page,
    currencies: ["GHS"],
    prefixes: ["233"],
    networks: ["MTN", "VODAFONE", "AIRTELTIGO"],
    paymentType: "mobilemoneygh"
  },
  mobile_money_rwanda: {
    ...page,
    currencies: ["RWF"],
    prefixes: ["250"],
    networks: ["MTN", "AIRTEL"],
    required: ["order_id"],
    paymentType: "mobilemoneyrw"
  },
  mobile_money_zambia: {
    ...page,
    currencies: ["ZMW"],
    prefixes: ["260"],
    networks: ["MTN", "AIRTEL", "ZAMTEL"],
    paymentType: "mobilemoneyzm"
  },
  mpesa: {
    ...prompt,
    currencies: ["KES"],
    prefixes: ["254"],
    networks: ["SAFARICOM", "AIRTEL"],
    authModel: "LIPA_MPESA",
    paymentType: "mpesa"
  },
  mobile_money_franco: {
    ...prompt,
    currencies: ["XAF", "XOF"],
    prefixes: ["237", "225"],
    networks: ["MTN", "ORANGEMONEY", "WAVE"],
    required: ["country"],
    authModel: "AUTH",
    paymentType: "mobilemoneyfranco"
  },
  mobile_money_tanzania: {
    ...prompt,
    currencies: ["TZS"],
    prefixes: ["255"],
    networks: ["HALOPESA", "AIRTEL", "TIGO", "VODACOM"],
    authModel: "MOBILEMONEY",
    paymentType: "mobilemoneytz"
  }
}

/** By the `type` of the query. */
export const chargeTypes: ReadonlyMap<string, ChargeType> = new Map(Object.entries(types))

/** The values of `account_bank` for phones, by currency. */
export const momoBanks: Readonly<Partial<Record<Currency, ReadonlyArray<string>>>> = {
  UGX: ["MPS", "MTN", "Airtel"],
  KES: ["MPS"],
  RWF: ["MPS", "MTN"],
  GHS: ["MTN", "VODAFONE", "TELECEL", "AIRTELTIGO"],
  ZMW: ["MPS"],
  TZS: ["AIRTEL", "HALOPESA", "TIGO", "VODACOM"],
  XAF: ["MTN", "ORANGEMONEY"],
  XOF: ["FMM", "Moov", "orangemoney", "WAVE"]
}

interface Bank {
  readonly country: string
  readonly currency: Currency
  readonly id: number
  readonly code: string
  readonly name: string
  readonly branches: ReadonlyArray<string>
}

export const banks: ReadonlyArray<Bank> = [
  { country: "NG", currency: "NGN", id: 132, code: "560", name: "Page MFBank", branches: [] },
  { country: "NG", currency: "NGN", id: 133, code: "044", name: "Access Bank Nigeria", branches: [] },
  { country: "NG", currency: "NGN", id: 134, code: "058", name: "Guaranty Trust Bank", branches: [] },
  { country: "KE", currency: "KES", id: 201, code: "01", name: "Kenya Commercial Bank", branches: [] },
  { country: "KE", currency: "KES", id: 202, code: "68", name: "Equity Bank Kenya", branches: [] },
  { country: "GH", currency: "GHS", id: 280, code: "GH190100", name: "Stanbic Bank Ghana", branches: ["GH190101", "GH190102"] },
  { country: "GH", currency: "GHS", id: 281, code: "GH040100", name: "GCB Bank", branches: ["GH040101"] },
  { country: "UG", currency: "UGX", id: 310, code: "01", name: "Stanbic Bank Uganda", branches: ["UG010001"] },
  { country: "UG", currency: "UGX", id: 311, code: "16", name: "Centenary Bank", branches: ["UG160001", "UG160002"] }
]

/** The countries that GET /banks/{country} knows. */
export const bankCountries: ReadonlyArray<string> = ["NG", "GH", "KE", "UG", "ZA", "TZ"]

/** The country in which GET /accounts/resolve knows a holder. */
export const RESOLVED_COUNTRY = "NG"
