import { type Currency } from "../../domain/Currency.ts"

interface ChargeType {
  readonly currencies: ReadonlyArray<Currency>
  /** Of the phones that can be charged. */
  readonly prefixes: ReadonlyArray<string>
  /** Words for `network`, which may be left out. */
  readonly networks: ReadonlyArray<string>
  readonly required: ReadonlyArray<"order_id" | "country">
  /** The payer has to visit a page. */
  readonly redirects: boolean
  readonly authModel: string
  readonly paymentType: string
}

const prompt = { required: [], redirects: false } as const
const page = { required: [], redirects: true, authModel: "MOBILEMONEY" } as const

/** By the `type` of the query. */
export const chargeTypes: ReadonlyMap<string, ChargeType> = new Map<string, ChargeType>([
  [
    "mobile_money_uganda",
    { ...page, currencies: ["UGX"], prefixes: ["256"], networks: ["MTN", "AIRTEL"], paymentType: "mobilemoneyug" }
  ],
  [
    "mobile_money_ghana",
    {
      ...page,
      currencies: ["GHS"],
      prefixes: ["233"],
      networks: ["MTN", "VODAFONE", "AIRTELTIGO"],
      paymentType: "mobilemoneygh"
    }
  ],
  [
    "mobile_money_rwanda",
    {
      ...page,
      currencies: ["RWF"],
      prefixes: ["250"],
      networks: ["MTN", "AIRTEL"],
      required: ["order_id"],
      paymentType: "mobilemoneyrw"
    }
  ],
  [
    "mobile_money_zambia",
    {
      ...page,
      currencies: ["ZMW"],
      prefixes: ["260"],
      networks: ["MTN", "AIRTEL", "ZAMTEL"],
      paymentType: "mobilemoneyzm"
    }
  ],
  [
    "mpesa",
    {
      ...prompt,
      currencies: ["KES"],
      prefixes: ["254"],
      networks: ["SAFARICOM", "AIRTEL"],
      authModel: "LIPA_MPESA",
      paymentType: "mpesa"
    }
  ],
  [
    "mobile_money_franco",
    {
      ...prompt,
      currencies: ["XAF", "XOF"],
      prefixes: ["237", "225"],
      networks: ["MTN", "ORANGEMONEY", "WAVE"],
      required: ["country"],
      authModel: "AUTH",
      paymentType: "mobilemoneyfranco"
    }
  ],
  [
    "mobile_money_tanzania",
    {
      ...prompt,
      currencies: ["TZS"],
      prefixes: ["255"],
      networks: ["HALOPESA", "AIRTEL", "TIGO", "VODACOM"],
      authModel: "MOBILEMONEY",
      paymentType: "mobilemoneytz"
    }
  ]
])

/** Words for phones in `account_bank`, by currency. */
export const momoBanks: Readonly<Partial<Record<Currency, ReadonlyArray<string>>>> = {
  UGX: ["MPS", "MTN", "Airtel"],
  KES: ["MPS"],
  RWF: ["MPS", "MTN"],
  GHS: ["MTN", "VODAFONE", "TELECEL", "AIRTELTIGO"],
  ZMW: ["MPS"],
  TZS: ["AIRTEL", "HALOPESA", "TIGO", "VODACOM"],
  XAF: ["MTN", "ORANGEMONEY"],
  XOF: ["MTN", "ORANGE", "MOOV", "WAVE"]
}

interface Bank {
  readonly country: string
  readonly currency: Currency
  readonly id: number
  readonly code: string
  readonly name: string
  readonly branches: ReadonlyArray<string>
}

const bank = (country: string, currency: Currency, id: number, code: string, name: string, ...branches: Array<string>): Bank => ({
  country,
  currency,
  id,
  code,
  name,
  branches
})

export const banks: ReadonlyArray<Bank> = [
  bank("NG", "NGN", 132, "560", "Page MFBank"),
  bank("NG", "NGN", 133, "044", "Access Bank Nigeria"),
  bank("NG", "NGN", 134, "058", "Guaranty Trust Bank"),
  bank("KE", "KES", 201, "01", "Kenya Commercial Bank"),
  bank("KE", "KES", 202, "68", "Equity Bank Kenya"),
  bank("GH", "GHS", 280, "GH190100", "Stanbic Bank Ghana", "GH190101", "GH190102"),
  bank("GH", "GHS", 281, "GH040100", "GCB Bank", "GH040101"),
  bank("UG", "UGX", 310, "01", "Stanbic Bank Uganda", "UG010001"),
  bank("UG", "UGX", 311, "16", "Centenary Bank", "UG160001", "UG160002")
]

/** The countries that GET /banks/{country} knows. */
export const bankCountries: ReadonlyArray<string> = ["NG", "GH", "KE", "UG", "ZA", "TZ"]

/** Where GET /accounts/resolve knows a holder. */
export const RESOLVED_COUNTRY = "NG"
