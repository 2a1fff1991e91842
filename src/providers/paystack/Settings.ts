import { Redacted } from "effect"
import { secret } from "../../ConfigRules.ts"
import { contractFeesOf } from "../FeeSchedule.ts"
import { emailDomain, RESERVED_DOMAIN } from "../PayerEmail.ts"
import { knownProvider } from "../ProviderModule.ts"
import { paystack } from "./Adapter.ts"
import type { PaystackSettings } from "./Client.ts"
import { pricedPlaces } from "./Networks.ts"

/** `PAYSTACK_BASE_URL`, the contract's payout fees, `PAYSTACK_EMAIL_DOMAIN`, and for each mode `SECRET_KEY`. */
export const paystackProvider = knownProvider<PaystackSettings>({
  name: "paystack",
  credentials: ["SECRET_KEY"],
  contract: { places: pricedPlaces, fees: ({ fees }) => fees },
  // Paystack documents no limit; this is our choice.
  pace: { count: 10, windowMs: 1_000, burst: 10 },
  account: (reader) => {
    const { baseUrl, own, shared, timeoutMs } = reader
    const secretKey = own("SECRET_KEY", secret)
    const fees = contractFeesOf(reader, pricedPlaces)
    const payerDomain = shared("EMAIL_DOMAIN", emailDomain) ?? RESERVED_DOMAIN
    if (secretKey === null) return null
    return { baseUrl, timeoutMs, secretKey, fees, emailDomain: payerDomain }
  },
  // Neither a key nor any free call names the account. The key determines the mode, whatever its settings are called.
  identity: ({ secretKey }) => ({ within: keyMode(secretKey), own: secretKey }),
  open: paystack
})

const keyMode = (secretKey: Redacted.Redacted): string => (Redacted.value(secretKey).startsWith("sk_test_") ? "test" : "live")
