import type { Redacted } from "effect"

/** The sender, for corridors that require one (M-Pesa in Kenya). */
export interface Sender {
  readonly name: string
  readonly country: string
  readonly phone: string
}

/** One merchant account at Flutterwave. */
export interface FlutterwaveSettings {
  /** Including the version: `https://api.flutterwave.com/v3`. */
  readonly baseUrl: string
  /** Determines the account and its mode. */
  readonly secretKey: Redacted.Redacted
  /** The secret that Flutterwave sends in every callback. */
  readonly webhookSecretHash: Redacted.Redacted
  readonly sender: Sender | null
  /** The domain of generated addresses, for payers without one. */
  readonly emailDomain: string
  /** For one call. */
  readonly timeoutMs: number
}
