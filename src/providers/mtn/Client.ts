import { Effect, Redacted } from "effect"
import type { Client } from "../Client.ts"
import type { ContractFees } from "../ContractFees.ts"
import { basicCredentials, oauth, tokenClient } from "../Tokens.ts"
import type { Transport } from "../Transport.ts"
import type { Market } from "./Networks.ts"
import { type Product, tokenPath } from "./Wire.ts"

/** Our account in one country: MTN's contracts, hosts and credentials are per country. */
export interface CountryAccount extends Market {
  /** Without a path: `https://proxy.momoapi.mtn.com`. */
  readonly baseUrl: string
  readonly userId: string
  readonly apiKey: Redacted.Redacted
  readonly subscriptionKeys: Readonly<Record<Product, Redacted.Redacted>>
}

/** The check of a recipient before a payout: that the account is active and who holds it, the former only, or none. */
export type HolderCheck = "name" | "active" | "off"

export interface MtnSettings {
  /** At least one, each in another country and currency. */
  readonly countries: ReadonlyArray<CountryAccount>
  readonly fees: ContractFees
  readonly holderCheck: HolderCheck
  /** The URL for MTN's callbacks, with the secret path; null: no callbacks, only polls. */
  readonly callbackUrl: Redacted.Redacted | null
  /** For one call, including its token. */
  readonly timeoutMs: number
}

/** One country's account, with a client for each of its products. */
export interface OpenedAccount extends CountryAccount {
  readonly clients: Readonly<Record<Product, Client>>
  readonly client: Client
}

/** A token is renewed this long before it expires, so that it does not expire in transit. */
const TOKEN_MARGIN_MS = 60_000

export const openAccount =
  (timeoutMs: number) =>
  (account: CountryAccount, transport: Transport): Effect.Effect<OpenedAccount> => {
    const { apiKey, baseUrl, environment, subscriptionKeys, userId } = account
    const authorization = basicCredentials(userId, apiKey)
    const open = (product: Product): Effect.Effect<Client> => {
      const subscription = { "ocp-apim-subscription-key": Redacted.value(subscriptionKeys[product]) }
      const headers = { ...subscription, accept: "application/json", authorization }
      return tokenClient(
        {
          baseUrl,
          timeoutMs,
          request: { method: "POST", path: tokenPath(product), headers },
          ...oauth(TOKEN_MARGIN_MS),
          alarm: "MTN refuses the gateway's own credentials, its subscription or its address",
          headers: { ...subscription, "x-target-environment": environment }
        },
        transport
      )
    }
    const clients = Effect.all({ collection: open("collection"), disbursement: open("disbursement") })
    return Effect.map(clients, (opened) => ({ ...account, clients: opened, client: opened.disbursement }))
  }
