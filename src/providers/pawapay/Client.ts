import type { Redacted } from "effect"
import { bearerClient, type Client } from "../Client.ts"
import type { Transport } from "../Transport.ts"

/** How one account at pawaPay is reached. */
export interface Reached {
  /** With the version: `https://api.pawapay.io/v2`. */
  readonly baseUrl: string
  readonly apiToken: Redacted.Redacted
}

export const makeClient = ({ apiToken, baseUrl }: Reached, transport: Transport): Client =>
  bearerClient(baseUrl, apiToken, transport)
