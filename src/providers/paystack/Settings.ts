import { createHash } from "node:crypto"
import { Redacted } from "effect"
import { type Rule, secret } from "../../ConfigRules.ts"
import { payoutFees, simulatedPayoutFees } from "../ContractFees.ts"
import { knownProvider } from "../ProviderModule.ts"
import { paystack } from "./Adapter.ts"
import type { PaystackSettings } from "./Client.ts"
import { paystackSimulator } from "./Simulator.ts"
import type { PaystackAccount } from "./SimulatorCall.ts"

/** Reserved for examples, so that an address there reaches nobody. */
const RESERVED_DOMAIN = "example.com"

const domain: Rule<string> = {
  meaning: "a domain such as payers.example.com",
  of: (value) => (/^([a-z0-9-]+\.)+[a-z]{2,}$/.test(value.toLowerCase()) ? value.toLowerCase() : undefined)
}

/** `PAYSTACK_BASE_URL`, `PAYSTACK_PAYOUT_FEES`, `PAYSTACK_EMAIL_DOMAIN`, and for each mode `SECRET_KEY`. */
export const paystackProvider = knownProvider<PaystackSettings & PaystackAccount>({
  name: "paystack",
  credentials: ["SECRET_KEY"],
  shared: ["PAYOUT_FEES"],
  account: ({ baseUrl, own, shared, timeoutMs }) => {
    const secretKey = own("SECRET_KEY", secret)
    const fees = shared("PAYOUT_FEES", payoutFees)
    const emailDomain = shared("EMAIL_DOMAIN", domain) ?? RESERVED_DOMAIN
    if (secretKey === null || fees === null) return null
    return { baseUrl, timeoutMs, secretKey, payoutFees: fees, emailDomain, clientId: publicName(secretKey) }
  },
  simulated: (mode, reach) => ({
    ...reach,
    secretKey: Redacted.make(`sk_${mode}_simulated`),
    payoutFees: simulatedPayoutFees,
    emailDomain: RESERVED_DOMAIN,
    clientId: `simulated-${mode}`
  }),
  open: paystack,
  accountName: ({ clientId }) => clientId,
  simulator: paystackSimulator
})

/** A key names its account and opens it: what is shown of it cannot be turned back. */
const publicName = (secretKey: Redacted.Redacted): string =>
  `key-${createHash("sha256").update(Redacted.value(secretKey)).digest("hex").slice(0, 12)}`
