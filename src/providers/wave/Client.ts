import { Effect, type Redacted } from "effect"
import { bearerClient } from "../Client.ts"
import type { ContractFees } from "../ContractFees.ts"
import type { CountryAccount } from "../CountryBranches.ts"
import type { Transport } from "../Transport.ts"
import type { WalletCountry } from "./Networks.ts"

/** A key opens one wallet, and a wallet is of one country. */
export interface Wallet extends CountryAccount {
  readonly country: WalletCountry
  readonly apiKey: Redacted.Redacted
  /** Of its callbacks, in whichever form they are authenticated. */
  readonly webhookSecret: Redacted.Redacted
  /** In whose name an aggregator moves money; null: in our own. */
  readonly aggregatedMerchant: string | null
}

export interface WaveSettings {
  /** Without a path: `https://api.wave.com`. */
  readonly baseUrl: string
  /** At least one. */
  readonly wallets: ReadonlyArray<Wallet>
  readonly fees: ContractFees
  /** For one call. */
  readonly timeoutMs: number
}

export const openWallet = (baseUrl: string) => (wallet: Wallet, transport: Transport) =>
  Effect.succeed({ ...wallet, client: bearerClient(baseUrl, wallet.apiKey, transport) })
