import { Redacted } from "effect"
import { type Rule, secret } from "../../ConfigRules.ts"
import { payoutFees } from "../ContractFees.ts"
import { knownProvider } from "../ProviderModule.ts"
import { paystack } from "./Adapter.ts"
import type { PaystackSettings } from "./Client.ts"

/** Reserved for examples, so that an address there reaches nobody. */
const RESERVED_DOMAIN = "example.com"

const domain: Rule<string> = {
  meaning: "a domain such as payers.example.com",
  of: (value) => (/^([a-z0-9-]+\.)+[a-z]{2,}$/.test(value.toLowerCase()) ? value.toLowerCase() : undefined)
}

/** `PAYSTACK_BASE_URL`, `PAYSTACK_PAYOUT_FEES`, `PAYSTACK_EMAIL_DOMAIN`, and for each mode `SECRET_KEY`. */
export const paystackProvider = knownProvider<PaystackSettings>({
  name: "paystack",
  credentials: ["SECRET_KEY"],
  shared: ["PAYOUT_FEES"],
  account: ({ baseUrl, own, shared, timeoutMs }) => {
    const secretKey = own("SECRET_KEY", secret)
    const fees = shared("PAYOUT_FEES", payoutFees)
    const emailDomain = shared("EMAIL_DOMAIN", domain) ?? RESERVED_DOMAIN
    if (secretKey === null || fees === null) return null
    return { baseUrl, timeoutMs, secretKey, payoutFees: fees, emailDomain }
  },
  // Neither a key nor any free answer names the account. The key chooses the mode, whatever its settings are called.
  identity: ({ secretKey }) => ({ within: keyMode(secretKey), own: secretKey }),
  open: paystack
})

const keyMode = (secretKey: Redacted.Redacted): string => (Redacted.value(secretKey).startsWith("sk_test_") ? "test" : "live")
