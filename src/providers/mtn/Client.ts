import { type Effect, Redacted } from "effect"
import type { Client } from "../Client.ts"
import type { ContractFees } from "../ContractFees.ts"
import { tokenClient } from "../Tokens.ts"
import type { Transport } from "../Transport.ts"
import type { Market } from "./Networks.ts"
import { type Product, TokenAnswer, tokenPath } from "./Wire.ts"

/** Our account in one country: MTN contracts, hosts and credentials end at the border. */
export interface CountryAccount extends Market {
  /** Without a path: `https://proxy.momoapi.mtn.com`. */
  readonly baseUrl: string
  readonly userId: string
  readonly apiKey: Redacted.Redacted
  readonly subscriptionKeys: Readonly<Record<Product, Redacted.Redacted>>
}

/** The check of a recipient before a payout: whether the account is active and the holder's name, only the first, or none. */
export type HolderCheck = "name" | "active" | "off"

export interface MtnSettings {
  /** At least one, each of another country and currency. */
  readonly countries: ReadonlyArray<CountryAccount>
  readonly fees: ContractFees
  readonly holderCheck: HolderCheck
  /** Where MTN shall call back, with the secret path; null leaves it to asking. */
  readonly callbackUrl: Redacted.Redacted | null
  /** For one call, its token included. */
  readonly timeoutMs: number
}

/** One country's account, and a client for each of its products. */
export interface Branch extends Market {
  readonly clients: Readonly<Record<Product, Client>>
}

/** Before a token's end, so that none runs out on the way. */
const TOKEN_MARGIN_MS = 60_000
/** Whatever MTN says. */
const LONGEST_TOKEN_LIFE_MS = 3_600_000

/** Authenticated calls to one product in one country. */
export const openClient = (
  { timeoutMs }: Pick<MtnSettings, "timeoutMs">,
  account: CountryAccount,
  product: Product,
  transport: Transport
): Effect.Effect<Client> => {
  const { baseUrl, environment, subscriptionKeys } = account
  const subscription = { "ocp-apim-subscription-key": Redacted.value(subscriptionKeys[product]) }
  return tokenClient(
    {
      baseUrl,
      request: {
        method: "POST",
        url: baseUrl.replace(/\/+$/, "") + tokenPath(product),
        headers: { ...subscription, accept: "application/json", authorization: `Basic ${basic(account)}` },
        timeoutMs
      },
      schema: TokenAnswer,
      tokenIn: ({ access_token: text, expires_in }) => ({ text, lifeMs: lifeOf(expires_in) }),
      refusing: [400, 401, 403],
      alarm: "MTN refuses the gateway's own credentials, its subscription or its address",
      headers: { ...subscription, "x-target-environment": environment }
    },
    transport
  )
}

const basic = ({ apiKey, userId }: CountryAccount): string =>
  Buffer.from(`${userId}:${Redacted.value(apiKey)}`).toString("base64")

const lifeOf = (seconds: string): number => {
  const lifeMs = /^\d{1,9}$/.test(seconds) ? Number(seconds) * 1000 : 0
  return Math.max(0, Math.min(lifeMs, LONGEST_TOKEN_LIFE_MS) - TOKEN_MARGIN_MS)
}
