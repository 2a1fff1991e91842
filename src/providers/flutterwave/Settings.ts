import { Redacted } from "effect"
import { type Rule, secret } from "../../ConfigRules.ts"
import { emailDomain, RESERVED_DOMAIN } from "../PayerEmail.ts"
import { knownProvider, whole } from "../ProviderModule.ts"
import { flutterwave } from "./Adapter.ts"
import type { FlutterwaveSettings, Sender } from "./Client.ts"

const sender: Rule<Sender> = {
  meaning: "a name, its country and its phone number such as Acme Ltd:KE:254700000000",
  of: (value) => {
    const [, name, country, phone] = /^([^:]{1,64}):([A-Z]{2}):(\d{8,15})$/.exec(value) ?? []
    return name === undefined || country === undefined || phone === undefined ? undefined : { name, country, phone }
  }
}

/**
 * `FLUTTERWAVE_BASE_URL` (with `/v3`), optionally `FLUTTERWAVE_SENDER` and `FLUTTERWAVE_EMAIL_DOMAIN`, and `SECRET_KEY` and
 * `WEBHOOK_SECRET_HASH` for each mode.
 */
export const flutterwaveProvider = knownProvider<FlutterwaveSettings>({
  name: "flutterwave",
  credentials: ["SECRET_KEY", "WEBHOOK_SECRET_HASH"],
  // The only published limit, of an older API.
  pace: { count: 300, windowMs: 60_000, burst: 10 },
  account: ({ baseUrl, own, shared, timeoutMs }) => {
    const needed = whole({ secretKey: own("SECRET_KEY", secret), webhookSecretHash: own("WEBHOOK_SECRET_HASH", secret) })
    const sentBy = shared("SENDER", sender)
    const payerDomain = shared("EMAIL_DOMAIN", emailDomain) ?? RESERVED_DOMAIN
    return needed && { baseUrl, timeoutMs, ...needed, sender: sentBy, emailDomain: payerDomain }
  },
  // Neither a key nor any free call names the account. The key determines the mode, whatever its settings are called.
  identity: ({ secretKey }) => ({ within: keyMode(secretKey), own: secretKey }),
  open: flutterwave
})

const keyMode = (secretKey: Redacted.Redacted): string => (Redacted.value(secretKey).startsWith("FLWSECK_TEST") ? "test" : "live")
