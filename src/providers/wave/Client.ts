import { Effect, type Redacted } from "effect"
import { bearerClient } from "../Client.ts"
import type { ContractFees } from "../ContractFees.ts"
import type { CountryAccount } from "../CountryBranches.ts"
import type { Transport } from "../Transport.ts"
import type { WalletCountry } from "./Networks.ts"

/** A wallet in one country, opened by its own key. */
export interface Wallet extends CountryAccount {
  readonly country: WalletCountry
  readonly apiKey: Redacted.Redacted
  /** For its callbacks, in either form of authentication. */
  readonly webhookSecret: Redacted.Redacted
  /** The merchant for whom an aggregator moves money; null: ourselves. */
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
