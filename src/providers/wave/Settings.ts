import { Redacted } from "effect"
import { secret, text } from "../../ConfigRules.ts"
import type { Mode } from "../../domain/Ids.ts"
import { byCountry } from "../CountryList.ts"
import { contractFeesOf } from "../FeeSchedule.ts"
import { type AccountReader, knownProvider } from "../ProviderModule.ts"
import { wave } from "./Adapter.ts"
import type { Wallet, WaveSettings } from "./Client.ts"
import { CURRENCY, pricedPlaces, type WalletCountry, walletCountries } from "./Networks.ts"

/**
 * `WAVE_BASE_URL`, the contract's fees, and for each mode `API_KEY` and `WEBHOOK_SECRET`, each a comma list with one value per
 * country (`CI:…,SN:…`). Optional, for any of these countries: `AGGREGATED_MERCHANT`.
 */
export const waveProvider = knownProvider<WaveSettings>({
  name: "wave",
  credentials: ["API_KEY", "WEBHOOK_SECRET"],
  contract: { places: pricedPlaces, fees: ({ fees }) => fees },
  // Wave documents no limit; this is our choice.
  pace: { count: 10, windowMs: 1_000, burst: 10 },
  account: (reader) => {
    const wallets = walletsBy(reader)
    const fees = contractFeesOf(reader, pricedPlaces)
    return wallets === null ? null : { baseUrl: reader.baseUrl, timeoutMs: reader.timeoutMs, wallets, fees }
  },
  // A wallet is identified only by its key, and all have one currency: all keys together identify the account.
  identity: ({ wallets }, currency) =>
    currency === CURRENCY ? { within: "", own: Redacted.make(wallets.map(keyIn).sort().join(",")) } : null,
  open: wave
})

const keyIn = ({ apiKey, country }: Wallet): string => `${country}:${Redacted.value(apiKey)}`

const walletsBy = ({ mode, own }: AccountReader): ReadonlyArray<Wallet> | null => {
  const key = { ...secret, meaning: `the key of its wallet, for ${mode} mode` }
  const keys = own("API_KEY", byCountry(key, walletCountries, { fits: isKeyFor(mode) }))
  const countries = [...(keys?.keys() ?? [])]
  const webhookSecrets = own("WEBHOOK_SECRET", byCountry(secret, walletCountries, { exactly: countries }))
  const merchants = own("AGGREGATED_MERCHANT", byCountry(text, countries))
  if (keys === null || webhookSecrets === null) return null
  return [...keys].map(([country, apiKey]) => ({
    country,
    currency: CURRENCY,
    apiKey,
    webhookSecret: webhookSecrets.get(country) ?? Redacted.make(""),
    aggregatedMerchant: merchants?.get(country) ?? null
  }))
}

/** A key may name the country and kind of its wallet: `wave_ci_prod_…`, `wave_ci_test_…`. */
const isKeyFor = (mode: Mode) => {
  const own = { live: "prod", test: "test" }[mode]
  return (country: WalletCountry, key: string): boolean => {
    const [, place = country, kind = own] = /^wave_([a-z]{2})_(?:(prod|test)_)?/i.exec(key) ?? []
    return place.toUpperCase() === country && kind.toLowerCase() === own
  }
}
