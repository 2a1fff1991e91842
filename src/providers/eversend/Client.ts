import { Duration, type Effect, Redacted } from "effect"
import type { Client } from "../Client.ts"
import { tokenClient } from "../Tokens.ts"
import type { Transport } from "../Transport.ts"
import { TokenAnswer } from "./Wire.ts"

/** One merchant account at Eversend. */
export interface EversendSettings {
  /** Including the version: `https://api.eversend.co/v1`. */
  readonly baseUrl: string
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted
  /** For verifying its callbacks. */
  readonly webhookSecret: Redacted.Redacted
  /** The domain that the account registered, if Eversend requires it. */
  readonly origin: string | null
  /** For one call, including its token. */
  readonly timeoutMs: number
}

/** For how long a token is used. Eversend documents no lifetime; working integrations use this one. */
const TOKEN_LIFE = Duration.minutes(20)

export const openClient = (
  { baseUrl, clientId, clientSecret, origin, timeoutMs }: EversendSettings,
  transport: Transport
): Effect.Effect<Client> => {
  const headers: Readonly<Record<string, string>> = origin === null ? {} : { origin }
  return tokenClient(
    {
      baseUrl,
      timeoutMs,
      request: {
        method: "GET",
        path: "/auth/token",
        headers: { ...headers, accept: "application/json", clientId, clientSecret: Redacted.value(clientSecret) }
      },
      schema: TokenAnswer,
      tokenIn: ({ token }) => ({ text: token, lifeMs: Duration.toMillis(TOKEN_LIFE) }),
      refusing: [401, 403],
      alarm: "Eversend refuses the gateway's own credentials, its address or its origin",
      headers
    },
    transport
  )
}
