import { Schema } from "effect"
import type { Currency } from "../../domain/Currency.ts"
import { pricedNetwork } from "../FeeSchedule.ts"

/** As in corridor rows. */
export const NETWORK = "MTN"

/** The countries of MTN's network among the gateway's corridors. Each has its own currency, which identifies the account. */
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
  /** With the plus sign. */
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

/** MTN's test system has one environment and one currency, whatever the country. */
export const sandboxOf = (country: MarketCountry): Market => ({ country, environment: "sandbox", currency: "EUR" })

/** MTN's responses name no fee. */
export const pricedPlaces = pricedNetwork(
  NETWORK,
  marketCountries.flatMap((country) => [marketOf(country), sandboxOf(country)])
)
