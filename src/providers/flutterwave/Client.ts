import type { Redacted } from "effect"

/** The sender, where a corridor requires it (M-Pesa in Kenya). */
export interface Sender {
  readonly name: string
  readonly country: string
  readonly phone: string
}

/** One merchant account at Flutterwave. */
export interface FlutterwaveSettings {
  /** With the version: `https://api.flutterwave.com/v3`. */
  readonly baseUrl: string
  /** Chooses the account and its mode. */
  readonly secretKey: Redacted.Redacted
  /** The secret that Flutterwave repeats in every callback. */
  readonly webhookSecretHash: Redacted.Redacted
  readonly sender: Sender | null
  /** Of the addresses that stand for payers who gave none. */
  readonly emailDomain: string
  /** For one call. */
  readonly timeoutMs: number
}
