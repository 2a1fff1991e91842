import { Redacted } from "effect"
import { httpsUrl, list, type Rule, secret, text, words } from "../../ConfigRules.ts"
import { byCountry } from "../CountryList.ts"
import { contractFeesOf } from "../FeeSchedule.ts"
import { type AccountReader, knownProvider } from "../ProviderModule.ts"
import { publicKeyIn } from "../PublicKeys.ts"
import { airtel } from "./Adapter.ts"
import type { AirtelSettings, CountryAccount } from "./Client.ts"
import { type MarketCountry, marketCountries, places, pricedPlaces, unserved } from "./Networks.ts"

/**
 * `AIRTEL_BASE_URL`, the contract's fees, and for each mode `CLIENT_ID`, `CLIENT_SECRET`, `PIN` and `PIN_KEY`, each a comma
 * list with one value per country (`UG:…,ZM:…`). Optional for a mode: `HOSTS`, `VERSIONS`, `SIGNED_COUNTRIES`, `PIN_PADDING`,
 * `CALLBACK_KEY`, `HOLDER_CHECK`, `STATEMENT_COUNTRIES`.
 */
export const airtelProvider = knownProvider<AirtelSettings>({
  name: "airtel",
  credentials: ["CLIENT_ID", "CLIENT_SECRET", "PIN", "PIN_KEY"],
  contract: { places: pricedPlaces, fees: ({ fees }) => fees },
  // Airtel publishes no limit; this is our choice.
  pace: { count: 5, windowMs: 1_000, burst: 5 },
  account: (reader) => {
    const { own, timeoutMs } = reader
    const countries = countriesBy(reader)
    const fees = contractFeesOf(reader, pricedPlaces)
    const callbackKeys = own("CALLBACK_KEY", byCountry(secret, marketCountries))
    const holderCheck = own("HOLDER_CHECK", holderChecks) ?? "name"
    const statementCountries = own("STATEMENT_COUNTRIES", list(countryRule)) ?? []
    if (countries === null) return null
    return { countries, fees, holderCheck, callbackKeys: [...(callbackKeys?.values() ?? [])], statementCountries, timeoutMs }
  },
  // A new secret belongs to the same application. Each country has its own application and wallet.
  identity: ({ countries }, currency) => {
    const account = countries.find((one) => one.currency === currency)
    return account === undefined ? null : { within: account.country, own: Redacted.make(account.clientId) }
  },
  open: airtel
})

const countriesBy = ({ baseUrl, own }: AccountReader): ReadonlyArray<CountryAccount> | null => {
  const clientIds = own("CLIENT_ID", byCountry(text, marketCountries))
  const exactly = [...(clientIds?.keys() ?? [])]
  const clientSecrets = own("CLIENT_SECRET", byCountry(secret, marketCountries, { exactly }))
  const pinKeys = own("PIN_KEY", byCountry(pinKeyRule, marketCountries, { exactly }))
  const isPin = (country: MarketCountry, pin: string) =>
    pinKeys === null || (pinKeys.get(country) === "printed" ? PRINTED : PLAIN).test(pin)
  const pins = own("PIN", byCountry(pinRule, marketCountries, { exactly, fits: isPin }))
  const pinPaddings = own("PIN_PADDING", byCountry(paddingRule, marketCountries))
  const hosts = own("HOSTS", byCountry(httpsUrl, marketCountries))
  const signed = own("SIGNED_COUNTRIES", list(countryRule)) ?? []
  const isSigned = (country: MarketCountry) => signed.includes(country)
  const fits = (country: MarketCountry, version: string) => version !== "v3" || isSigned(country)
  const versions = own("VERSIONS", byCountry(versionRule, marketCountries, { fits }))
  if (clientIds === null) return null
  const accounts = [...clientIds].flatMap(([country, clientId]) => {
    const clientSecret = clientSecrets?.get(country)
    const pin = pins?.get(country)
    const pinKey = pinKeys?.get(country)
    if (clientSecret === undefined || pin === undefined || pinKey === undefined) return []
    const { currency } = places[country]
    const pinPadding = pinPaddings?.get(country) ?? "pkcs1"
    const dialect = { isSigned: isSigned(country), version: versions?.get(country) ?? "v1" } as const
    const url = hosts?.get(country) ?? baseUrl
    return [{ country, currency, ...dialect, baseUrl: url, clientId, clientSecret, pin, pinKey, pinPadding }]
  })
  return accounts.length === clientIds.size ? accounts : null
}

const countryRule = words(`one of ${marketCountries.join(", ")} (${unserved.join(", ")} are switched off)`, ...marketCountries)
const versionRule = words("v1, v2 or v3 (only where SIGNED_COUNTRIES has the country)", "v1", "v2", "v3")

const pinKeyRule: Rule<CountryAccount["pinKey"]> = {
  meaning:
    "the portal's public key for PINs, as base64 in one line, or printed where the PIN is what the portal printed, encrypted",
  of: (value) => (value === "printed" ? value : publicKeyIn(value))
}

/** A value that cannot be a PIN is never sent, because wrong PINs may block the wallet. */
const PLAIN = /^\d{4}$/
/** Encrypted under a key of at least 1024 bits. */
const PRINTED = /^[A-Za-z0-9+/]{120,}={0,2}$/
const pinRule: Rule<Redacted.Redacted> = {
  ...secret,
  meaning: "the four digits of the wallet's PIN, or where PIN_KEY is printed what the portal printed"
}

const paddingRule = words("pkcs1, oaep-sha1 or oaep-sha256", "pkcs1", "oaep-sha1", "oaep-sha256")
const holderChecks = words("name or off: whether a recipient is asked about before a payout", "name", "off")
