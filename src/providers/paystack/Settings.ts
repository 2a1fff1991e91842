import { Redacted } from "effect"
import { secret } from "../../ConfigRules.ts"
import { payoutFees } from "../ContractFees.ts"
import { emailDomain, RESERVED_DOMAIN } from "../PayerEmail.ts"
import { knownProvider } from "../ProviderModule.ts"
import { paystack } from "./Adapter.ts"
import type { PaystackSettings } from "./Client.ts"

/** `PAYSTACK_BASE_URL`, `PAYSTACK_PAYOUT_FEES`, `PAYSTACK_EMAIL_DOMAIN`, and for each mode `SECRET_KEY`. */
export const paystackProvider = knownProvider<PaystackSettings>({
  name: "paystack",
  credentials: ["SECRET_KEY"],
  shared: ["PAYOUT_FEES"],
  // No number is documented: ours.
  pace: { count: 10, windowMs: 1_000, burst: 10 },
  account: ({ baseUrl, own, shared, timeoutMs }) => {
    const secretKey = own("SECRET_KEY", secret)
    const fees = shared("PAYOUT_FEES", payoutFees)
    const payerDomain = shared("EMAIL_DOMAIN", emailDomain) ?? RESERVED_DOMAIN
    if (secretKey === null || fees === null) return null
    return { baseUrl, timeoutMs, secretKey, payoutFees: fees, emailDomain: payerDomain }
  },
  // Neither a key nor any free answer names the account. The key chooses the mode, whatever its settings are called.
  identity: ({ secretKey }) => ({ within: keyMode(secretKey), own: secretKey }),
  open: paystack
})

const keyMode = (secretKey: Redacted.Redacted): string => (Redacted.value(secretKey).startsWith("sk_test_") ? "test" : "live")
