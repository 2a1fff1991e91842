import { Effect, Redacted } from "effect"
import { calling, deadlineAfter } from "../../../src/providers/Client.ts"
import type { ProviderResponse, Transport } from "../../../src/providers/Transport.ts"

export interface Reached {
  /** With the version: `https://api.tumbuka.example/v1`. */
  readonly baseUrl: string
  readonly apiKey: Redacted.Redacted
  /** For one call. */
  readonly timeoutMs: number
}

export interface Call {
  readonly operation: string
  /** From the base URL on, query included. */
  readonly path: string
  /** With it the call is a POST that moves money. */
  readonly body?: object
}

export type Client = (call: Call) => Effect.Effect<ProviderResponse>

export const makeClient = ({ apiKey, baseUrl, timeoutMs }: Reached, transport: Transport): Client => {
  const once = calling(baseUrl, transport)
  const headers = { "x-api-key": Redacted.value(apiKey) }
  return (call) =>
    Effect.flatMap(deadlineAfter(timeoutMs), (until) =>
      once({ ...call, method: call.body === undefined ? "GET" : "POST" }, until, headers)
    )
}
