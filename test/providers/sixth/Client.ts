import { Redacted } from "effect"
import { type Client, calling } from "../../../src/providers/Client.ts"
import type { ContractFees } from "../../../src/providers/ContractFees.ts"
import type { Transport } from "../../../src/providers/Transport.ts"

/** One account at Tumbuka Pay. */
export interface SixthSettings {
  /** With the version: `https://api.tumbuka.example/v1`. */
  readonly baseUrl: string
  readonly apiKey: Redacted.Redacted
  readonly webhookSecret: Redacted.Redacted
  readonly fees: ContractFees
  /** For one call. */
  readonly timeoutMs: number
}

export const openClient = ({ apiKey, baseUrl }: SixthSettings, transport: Transport): Client => {
  const once = calling(baseUrl, transport)
  return (call, until) => once(call, until, { "x-api-key": Redacted.value(apiKey) })
}
