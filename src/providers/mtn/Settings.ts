import { Redacted } from "effect"
import { httpsUrl, httpUrl, type Rule, secret, text, words } from "../../ConfigRules.ts"
import { byCountry } from "../CountryList.ts"
import { contractFeesOf } from "../FeeSchedule.ts"
import { type AccountReader, knownProvider } from "../ProviderModule.ts"
import { mtn } from "./Adapter.ts"
import type { CountryAccount, MtnSettings } from "./Client.ts"
import { type MarketCountry, marketCountries, marketOf, pricedPlaces, sandboxOf } from "./Networks.ts"

/**
 * `MTN_BASE_URL`, the contract's fees, and for each mode `USER_ID`, `API_KEY`, `COLLECTION_KEY` and `DISBURSEMENT_KEY`, each a
 * comma list with one value per country (`UG:…,GH:…`). Optional for a mode: `HOSTS`, `TARGET_ENVIRONMENT`, `CALLBACK_URL`,
 * `HOLDER_CHECK`.
 */
export const mtnProvider = knownProvider<MtnSettings>({
  name: "mtn",
  credentials: ["USER_ID", "API_KEY", "COLLECTION_KEY", "DISBURSEMENT_KEY"],
  contract: { places: pricedPlaces, fees: ({ fees }) => fees },
  // MTN publishes no limit; integrators report 10 a second, which this never exceeds, even with its burst.
  pace: { count: 5, windowMs: 1_000, burst: 5 },
  account: (reader) => {
    const { own, timeoutMs } = reader
    const isSandbox = own("TARGET_ENVIRONMENT", sandbox) !== null
    const countries = countriesBy(reader, isSandbox)
    const fees = contractFeesOf(reader, pricedPlaces)
    const callbackUrl = own("CALLBACK_URL", secretUrl(isSandbox ? httpUrl : httpsUrl))
    const holderCheck = own("HOLDER_CHECK", holderChecks) ?? "name"
    if (countries === null) return null
    return { countries, fees, holderCheck, callbackUrl, timeoutMs }
  },
  // A new key belongs to the same API user. Each country has its own users and accounts.
  identity: ({ countries }, currency) => {
    const account = countries.find((one) => one.currency === currency)
    return account === undefined ? null : { within: account.environment, own: Redacted.make(account.userId) }
  },
  open: mtn
})

const countriesBy = ({ baseUrl, own }: AccountReader, isSandbox: boolean): ReadonlyArray<CountryAccount> | null => {
  const userIds = own("USER_ID", isSandbox ? alone(byCountry(text, marketCountries)) : byCountry(text, marketCountries))
  const named = [...(userIds?.keys() ?? [])]
  const secrets = byCountry(secret, marketCountries, { exactly: named })
  const apiKeys = own("API_KEY", secrets)
  const collectionKeys = own("COLLECTION_KEY", secrets)
  const disbursementKeys = own("DISBURSEMENT_KEY", secrets)
  const hosts = own("HOSTS", byCountry(httpsUrl, marketCountries))
  if (userIds === null) return null
  const accounts = [...userIds].flatMap(([country, userId]) => {
    const apiKey = apiKeys?.get(country)
    const collection = collectionKeys?.get(country)
    const disbursement = disbursementKeys?.get(country)
    if (apiKey === undefined || collection === undefined || disbursement === undefined) return []
    const market = isSandbox ? sandboxOf(country) : marketOf(country)
    const subscriptionKeys = { collection, disbursement }
    return [{ ...market, baseUrl: hosts?.get(country) ?? baseUrl, userId, apiKey, subscriptionKeys }]
  })
  return accounts.length === userIds.size ? accounts : null
}

type ByCountry<A> = ReadonlyMap<MarketCountry, A>

/** An account is identified by its currency, and the sandbox has only one. */
const alone = <A>(rule: Rule<ByCountry<A>>): Rule<ByCountry<A>> => ({
  ...rule,
  meaning: `${rule.meaning}, and of one country only in the sandbox`,
  of: (value) => {
    const read = rule.of(value)
    return read?.size === 1 ? read : undefined
  }
})

const sandbox = words("sandbox, or absent: each country has its own", "sandbox")
const holderChecks = words("name, active or off: what is asked about a recipient before a payout", "name", "active", "off")

/** It contains the secret path. The sandbox calls back by http although its newer pages say https, so both are accepted. */
const secretUrl = ({ meaning, of }: Rule<string>): Rule<Redacted.Redacted> => ({
  meaning,
  of: (value) => (of(value) === undefined ? undefined : Redacted.make(value)),
  isSecret: true
})
