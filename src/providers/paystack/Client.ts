import type { Redacted } from "effect"
import type { ContractFees } from "../ContractFees.ts"

/** One integration at Paystack. */
export interface PaystackSettings {
  /** `https://api.paystack.co` */
  readonly baseUrl: string
  /** Opens the account, chooses its mode and signs its callbacks. */
  readonly secretKey: Redacted.Redacted
  readonly fees: ContractFees
  /** Of the addresses that stand for payers who gave none. */
  readonly emailDomain: string
  /** For one call, and for a payout's recipient with it. */
  readonly timeoutMs: number
}
