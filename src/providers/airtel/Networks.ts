import { Schema } from "effect"
import type { Currency } from "../../domain/Currency.ts"
import { pricedNetwork } from "../FeeSchedule.ts"

/** As in corridor rows. */
export const NETWORK = "AIRTEL"

/** The countries in which the gateway has corridors and Airtel Money has an API. */
export const MarketCountry = Schema.Literals(["UG", "KE", "RW", "TZ", "ZM"])
export type MarketCountry = typeof MarketCountry.Type
export const marketCountries: ReadonlyArray<MarketCountry> = MarketCountry.literals

export interface Market {
  readonly country: MarketCountry
  readonly currency: Currency
}

interface Country {
  readonly name: string
  /** With the plus sign. */
  readonly phonePrefix: string
  readonly currency: Currency
}

export const places: Readonly<Record<MarketCountry, Country>> = {
  UG: { name: "Uganda", phonePrefix: "+256", currency: "UGX" },
  KE: { name: "Kenya", phonePrefix: "+254", currency: "KES" },
  RW: { name: "Rwanda", phonePrefix: "+250", currency: "RWF" },
  TZ: { name: "Tanzania", phonePrefix: "+255", currency: "TZS" },
  ZM: { name: "Zambia", phonePrefix: "+260", currency: "ZMW" }
}

/** Countries with the same API that are not served, because the gateway has no corridor or currency for them (README.md). */
export const unserved: ReadonlyArray<string> = ["NG", "MW", "MG", "CD", "CG", "TD", "GA", "NE", "SC"]

/** Airtel's responses name no fee. */
export const pricedPlaces = pricedNetwork(
  NETWORK,
  marketCountries.map((country) => ({ country, currency: places[country].currency }))
)
