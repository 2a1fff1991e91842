import { Schema } from "effect"
import type { Currency } from "../../domain/Currency.ts"
import { pricedNetwork } from "../FeeSchedule.ts"

/** As corridor rows spell it. */
export const NETWORK = "MTN"

/** Where MTN's network is among the gateway's corridors. No two of them have the same currency, by which an account is known. */
export const MarketCountry = Schema.Literals(["UG", "GH", "RW", "ZM", "CM", "CI"])
export type MarketCountry = typeof MarketCountry.Type

export interface Market {
  readonly country: MarketCountry
  /** Sent as X-Target-Environment. */
  readonly environment: string
  readonly currency: Currency
}

interface Country {
  readonly name: string
  /** With its plus sign. */
  readonly phonePrefix: string
  readonly environment: string
  readonly currency: Currency
}

export const places: Readonly<Record<MarketCountry, Country>> = {
  UG: { name: "Uganda", phonePrefix: "+256", environment: "mtnuganda", currency: "UGX" },
  GH: { name: "Ghana", phonePrefix: "+233", environment: "mtnghana", currency: "GHS" },
  RW: { name: "Rwanda", phonePrefix: "+250", environment: "mtnrwanda", currency: "RWF" },
  ZM: { name: "Zambia", phonePrefix: "+260", environment: "mtnzambia", currency: "ZMW" },
  CM: { name: "Cameroon", phonePrefix: "+237", environment: "mtncameroon", currency: "XAF" },
  CI: { name: "Cote d'Ivoire", phonePrefix: "+225", environment: "mtnivorycoast", currency: "XOF" }
}

export const marketCountries: ReadonlyArray<MarketCountry> = MarketCountry.literals

export const marketOf = (country: MarketCountry): Market => {
  const { currency, environment } = places[country]
  return { country, environment, currency }
}

/** MTN's test system, whatever country it stands for, has one environment and one currency. */
export const sandboxOf = (country: MarketCountry): Market => ({ country, environment: "sandbox", currency: "EUR" })

/** MTN's answers name no fee. */
export const pricedPlaces = pricedNetwork(
  NETWORK,
  marketCountries.flatMap((country) => [marketOf(country), sandboxOf(country)])
)
