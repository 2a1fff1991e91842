import { Schema } from "effect"
import { pricedNetwork } from "../FeeSchedule.ts"

/** The countries with business wallets in XOF. Payouts do not cross borders. */
export const WalletCountry = Schema.Literals(["CI", "SN", "BF", "ML"])
export type WalletCountry = typeof WalletCountry.Type
export const walletCountries: ReadonlyArray<WalletCountry> = WalletCountry.literals

export const CURRENCY = "XOF"
export const NETWORK = "WAVE"

export const places: Readonly<Record<WalletCountry, { readonly name: string; readonly phonePrefix: string }>> = {
  CI: { name: "Cote d'Ivoire", phonePrefix: "+225" },
  SN: { name: "Senegal", phonePrefix: "+221" },
  BF: { name: "Burkina Faso", phonePrefix: "+226" },
  ML: { name: "Mali", phonePrefix: "+223" }
}

/** A payout's fee is known only from its response, and a checkout session names none. */
export const pricedPlaces = pricedNetwork(
  NETWORK,
  walletCountries.map((country) => ({ country, currency: CURRENCY }))
)
