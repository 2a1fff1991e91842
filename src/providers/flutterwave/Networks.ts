import type { Method } from "../../domain/Corridor.ts"
import type { PayableCountry } from "../../services/ports/ProviderReads.ts"

// The gateway's networks in Flutterwave's terms. A network that a table lacks is not offered there.

/** By our network's code: its name in a body; null when the number alone decides. */
type Networks = Readonly<Record<string, string | null>>

interface ChargeRoute {
  /** The `type` of POST /charges. */
  readonly type: string
  readonly networks: Networks
  /** A required member in addition to the common ones. */
  readonly needs?: "order_id" | "country"
}

const charges: Readonly<Record<string, ChargeRoute>> = {
  UG: { type: "mobile_money_uganda", networks: { MTN: "MTN", AIRTEL: "AIRTEL" } },
  GH: { type: "mobile_money_ghana", networks: { MTN: "MTN", TELECEL: "VODAFONE", AT: "AIRTELTIGO" } },
  RW: { type: "mobile_money_rwanda", networks: { MTN: "MTN", AIRTEL: "AIRTEL" }, needs: "order_id" },
  ZM: { type: "mobile_money_zambia", networks: { MTN: "MTN", AIRTEL: "AIRTEL", ZAMTEL: "ZAMTEL" }, needs: "order_id" },
  KE: { type: "mpesa", networks: { MPESA: null, AIRTEL: "AIRTEL" } },
  CM: { type: "mobile_money_franco", networks: { MTN: "MTN", ORANGE: "ORANGEMONEY" }, needs: "country" },
  CI: {
    type: "mobile_money_franco",
    networks: { MTN: "MTN", ORANGE: "ORANGEMONEY", WAVE: "WAVE" },
    needs: "country"
  },
  TZ: {
    type: "mobile_money_tanzania",
    networks: { MPESA: "Vodacom", TIGO: "Tigo", AIRTEL: "Airtel", HALOTEL: "Halopesa" }
  }
}

export const chargeRoute = (country: string, network: string) => {
  const route = charges[country]
  const name = route?.networks[network]
  return route === undefined || name === undefined ? undefined : { type: route.type, network: name, needs: route.needs }
}

/** `account_bank` of a transfer to a phone. `MPS` stands for every network of its country. */
const momoBanks: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  UG: { MTN: "MPS", AIRTEL: "MPS" },
  KE: { MPESA: "MPS" },
  RW: { MTN: "MPS", AIRTEL: "MPS" },
  GH: { MTN: "MTN", TELECEL: "VODAFONE", AT: "AIRTELTIGO" },
  ZM: { MTN: "MPS", AIRTEL: "MPS", ZAMTEL: "MPS" },
  TZ: { MPESA: "VODACOM", TIGO: "TIGO", AIRTEL: "AIRTEL", HALOTEL: "HALOPESA" },
  CM: { MTN: "MTN", ORANGE: "ORANGEMONEY" },
  CI: { MTN: "FMM", ORANGE: "orangemoney", MOOV: "Moov", WAVE: "WAVE" }
}

export const momoBank = (country: string, network: string): string | undefined => momoBanks[country]?.[network]

/** `account_bank` of a transfer to another merchant's wallet. */
export const WALLET_BANK = "flutterwave"

const payable = (country: string, name: string, phonePrefix: string, ...methods: PayableCountry["methods"]): PayableCountry => ({
  country,
  name,
  phonePrefix,
  methods
})

/** Flutterwave has no endpoint that lists them. */
export const payableCountries: ReadonlyArray<PayableCountry> = [
  payable("UG", "Uganda", "+256", "momo", "bank", "wallet"),
  payable("KE", "Kenya", "+254", "momo", "bank", "wallet"),
  payable("RW", "Rwanda", "+250", "momo"),
  payable("GH", "Ghana", "+233", "momo", "bank", "wallet"),
  payable("NG", "Nigeria", "+234", "bank", "wallet"),
  payable("ZM", "Zambia", "+260", "momo"),
  payable("TZ", "Tanzania", "+255", "momo", "wallet"),
  payable("CM", "Cameroon", "+237", "momo"),
  payable("CI", "Cote d'Ivoire", "+225", "momo")
]

export const pays = (country: string, method: Method): boolean =>
  payableCountries.some((one) => one.country === country && one.methods.some((other) => other === method))

/** The countries in which a bank transfer must name a branch. */
export const branchCountries: ReadonlyArray<string> = ["GH", "UG", "TZ", "RW"]

/** The `type` of GET /transfers/fee. Flutterwave's word for a wallet is the name of its former wallet for persons. */
export const feeTypes = { momo: "mobilemoney", bank: "account", wallet: "barter" } as const
