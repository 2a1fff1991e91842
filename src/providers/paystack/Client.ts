import type { Redacted } from "effect"
import type { ContractFees } from "../ContractFees.ts"

/** One integration at Paystack. */
export interface PaystackSettings {
  /** `https://api.paystack.co` */
  readonly baseUrl: string
  /** Opens the account, determines its mode and signs its callbacks. */
  readonly secretKey: Redacted.Redacted
  readonly fees: ContractFees
  /** The domain of generated addresses, for payers without one. */
  readonly emailDomain: string
  /** For one call; for a payout including its recipient. */
  readonly timeoutMs: number
}
