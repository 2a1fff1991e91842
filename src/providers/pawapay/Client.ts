import type { KeyObject } from "node:crypto"
import type { Redacted } from "effect"
import { bearerClient, type Client } from "../Client.ts"
import type { ContractFees } from "../ContractFees.ts"
import type { Transport } from "../Transport.ts"

/** One account at pawaPay. */
export interface PawapaySettings {
  /** With the version: `https://api.pawapay.io/v2`. */
  readonly baseUrl: string
  readonly apiToken: Redacted.Redacted
  /** Null: the keys that pawaPay names. */
  readonly callbackKey: KeyObject | null
  /** The hosts in the addresses that are registered at pawaPay for callbacks; none: whatever host a callback was sent to. */
  readonly callbackHosts: ReadonlyArray<string>
  readonly fees: ContractFees
  /** For one call. */
  readonly timeoutMs: number
}

export const openClient = ({ apiToken, baseUrl }: PawapaySettings, transport: Transport): Client =>
  bearerClient(baseUrl, apiToken, transport)
