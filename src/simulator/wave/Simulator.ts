import { Redacted } from "effect"
import type { Mode } from "../../domain/Ids.ts"
import type { Wallet, WaveSettings } from "../../providers/wave/Client.ts"
import { CURRENCY, NETWORK, type WalletCountry, walletCountries } from "../../providers/wave/Networks.ts"
import { waveProvider } from "../../providers/wave/Settings.ts"
import { simulatedFees } from "../Fees.ts"
import { bySecret, simulatedWire, type WireEndpoints } from "../SimulatedWire.ts"
import { knownSimulator, namesBySecret } from "../SimulatorModule.ts"
import { createSession, expireSession } from "./Collections.ts"
import { createPayout } from "./Payouts.ts"
import { balance } from "./Reference.ts"
import { type Call, errors, refuse, tooMany, type WalletMerchant } from "./Responses.ts"
import { listTransactions } from "./Statements.ts"
import { callbackOf, search } from "./Transactions.ts"

type Account = Pick<WaveSettings, "wallets">

const apiKeyOf = (country: WalletCountry, mode: Mode): string => `wave_${country.toLowerCase()}_simulated_${mode}`
const nameBy = namesBySecret("wallet", (mode) => apiKeyOf("CI", mode))
/** To the simulator, an account is one, however many countries it covers. */
const nameOf = ({ wallets: [first] }: Account): string => nameBy(first?.apiKey ?? Redacted.make(""))

export const simulatedWave = knownSimulator({
  provider: waveProvider,
  account: (mode, reach) => ({
    ...reach,
    fees: simulatedFees,
    wallets: walletCountries.map((country) => walletIn(country, mode))
  }),
  accountName: nameOf,
  trial: { country: "CI", currency: CURRENCY, network: NETWORK, prefix: "225070000", redirects: true },
  simulator: (accounts) => waveSimulator(accounts)
})

const walletIn = (country: WalletCountry, mode: Mode): Wallet => ({
  country,
  currency: CURRENCY,
  apiKey: Redacted.make(apiKeyOf(country, mode)),
  webhookSecret: Redacted.make(`wave_${country.toLowerCase()}_WHS_simulated_${mode}`),
  aggregatedMerchant: null
})

const routes: WireEndpoints<Call> = {
  "POST /v1/payout": { endpoint: createPayout },
  "GET /v1/payouts/search": { operation: "payout_search", endpoint: search("payout") },
  "POST /v1/checkout/sessions": { endpoint: createSession },
  "GET /v1/checkout/sessions/search": { operation: "session_search", endpoint: search("collection") },
  "POST /v1/checkout/sessions/*/expire": { operation: "expire", endpoint: expireSession },
  "GET /v1/balance": { operation: "balance", endpoint: balance },
  "GET /v1/transactions": { operation: "statement", endpoint: listTransactions }
}

/** Wave as its wire shows it (README.md of the provider). */
const waveSimulator = (accounts: ReadonlyArray<Account>) => {
  const merchants = accounts.flatMap((account) =>
    account.wallets.map((wallet): WalletMerchant => ({ clientId: nameOf(account), wallet }))
  )
  return simulatedWire<WalletMerchant>({
    name: "wave",
    accounts: accounts.map((account) => ({ clientId: nameOf(account) })),
    errors,
    tooMany,
    routes,
    authenticate: bySecret(merchants, {
      secretOf: ({ wallet }) => wallet.apiKey,
      absent: refuse(401, "missing-auth-header", "The Authorization header is missing."),
      unknown: refuse(401, "no-matching-api-key", "There is no such API key.")
    }),
    unknownAddress: refuse(404, "not-found", "Not found."),
    payerPage: {
      path: /^\/c\/(cos-\d+)$/,
      missing: refuse(404, "not-found", "Not found.").response,
      isFor: ({ detail }) => detail.expired !== "true",
      backTo: ({ detail }) => detail.successUrl ?? ""
    },
    callback: callbackOf(
      (transaction) =>
        merchants.find(
          ({ clientId, wallet }) => clientId === transaction.account && wallet.country === transaction.detail.country
        )?.wallet.webhookSecret
    )
  })
}
