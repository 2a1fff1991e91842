import { Redacted } from "effect"
import type { Mode } from "../../domain/Ids.ts"
import type { CountryAccount } from "../../providers/mtn/Client.ts"
import { type MarketCountry, marketCountries, marketOf } from "../../providers/mtn/Networks.ts"
import { mtnProvider } from "../../providers/mtn/Settings.ts"
import { simulatedCollectionFee, simulatedPayoutFees } from "../Fees.ts"
import { knownSimulator } from "../SimulatorModule.ts"
import { accountNameOf, mtnSimulator } from "./Simulator.ts"

export const simulatedMtn = knownSimulator({
  provider: mtnProvider,
  account: (mode, { baseUrl, timeoutMs }) => ({
    countries: marketCountries.map((country) => countryAccount(country, mode, baseUrl)),
    payoutFees: simulatedPayoutFees,
    collectionFee: simulatedCollectionFee,
    callbackUrl: null,
    timeoutMs
  }),
  accountName: accountNameOf,
  simulator: (accounts) => mtnSimulator({ accounts })
})

/** An API user's id is a UUID. */
const users: Readonly<Record<Mode, string>> = {
  live: "5a1e0000-0000-4000-8000-000000000001",
  test: "7e570000-0000-4000-8000-000000000002"
}

const countryAccount = (country: MarketCountry, mode: Mode, baseUrl: string): CountryAccount => ({
  ...marketOf(country),
  baseUrl,
  userId: users[mode],
  apiKey: Redacted.make(`simulated-${mode}-api-key`),
  subscriptionKeys: {
    collection: Redacted.make(`simulated-${mode}-collection-key`),
    disbursement: Redacted.make(`simulated-${mode}-disbursement-key`)
  }
})
