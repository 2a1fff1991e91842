import { type KeyObject, X509Certificate } from "node:crypto"
import { Option, Redacted } from "effect"
import { httpUrl, isLoopback, oneOf, type Rule, secret, text } from "../../ConfigRules.ts"
import { contractFeesOf } from "../FeeSchedule.ts"
import { knownProvider, whole } from "../ProviderModule.ts"
import { daraja } from "./Adapter.ts"
import { type DarajaSettings, environmentOf } from "./Client.ts"
import { pricedPlaces } from "./Quote.ts"

const shortcode: Rule<string> = {
  meaning: "a shortcode of five to seven digits",
  of: (value) => (/^\d{5,7}$/.test(value) ? value : undefined)
}

const certificate: Rule<KeyObject> = {
  meaning: "Safaricom's certificate of the environment, with an RSA key, as PEM or as base64",
  of: (value) => {
    const key = Option.getOrUndefined(readCertificate(value.replaceAll("\\n", "\n")))?.publicKey
    return key?.asymmetricKeyType === "rsa" ? key : undefined
  },
  // Too long to be useful in a message.
  isSecret: true
}

const readCertificate = Option.liftThrowable(
  (value: string) => new X509Certificate(value.startsWith("-----") ? value : Buffer.from(value, "base64"))
)

/** Words that Safaricom refuses in a URL, in upper or lower case. The path of a key may contain one by chance. */
const REFUSED = /mpesa|safaricom|exe|exec|cmd|sql|query/i

const callbackUrl: Rule<Redacted.Redacted> = {
  meaning:
    "the https address of this gateway's callbacks, with its secret path, and without the words mpesa, safaricom, exe, cmd, sql and query, which Safaricom refuses: another number in DARAJA_…_CALLBACK_PATHS gives another path",
  of: (value) => {
    const url = httpUrl.of(value)
    if (url === undefined || REFUSED.test(url)) return undefined
    return url.startsWith("https:") || isLoopback(url) ? Redacted.make(url) : undefined
  },
  isSecret: true
}

/**
 * `DARAJA_BASE_URL`, the tariff, and for each mode one account with two shortcodes: one for collections (`SHORTCODE`,
 * `PASSKEY`) and one for payouts (`PAYOUT_SHORTCODE`, `INITIATOR`, `INITIATOR_PASSWORD`, `CERTIFICATE`). Optional for a mode:
 * `TILL`, `PULL`.
 */
export const darajaProvider = knownProvider<DarajaSettings>({
  name: "daraja",
  credentials: [
    "CONSUMER_KEY",
    "CONSUMER_SECRET",
    "CALLBACK_URL",
    "SHORTCODE",
    "PASSKEY",
    "PAYOUT_SHORTCODE",
    "INITIATOR",
    "INITIATOR_PASSWORD",
    "CERTIFICATE"
  ],
  contract: { places: pricedPlaces, fees: ({ fees }) => fees },
  // The contract sets the limit and none is published; this is our choice.
  pace: { count: 5, windowMs: 1_000, burst: 5 },
  account: (reader) => {
    const { baseUrl, own, timeoutMs } = reader
    const needed = whole({
      consumerKey: own("CONSUMER_KEY", text),
      consumerSecret: own("CONSUMER_SECRET", secret),
      callbackUrl: own("CALLBACK_URL", callbackUrl),
      shortcode: own("SHORTCODE", shortcode),
      passkey: own("PASSKEY", secret),
      payoutShortcode: own("PAYOUT_SHORTCODE", shortcode),
      initiator: own("INITIATOR", text),
      initiatorPassword: own("INITIATOR_PASSWORD", secret),
      certificateKey: own("CERTIFICATE", certificate)
    })
    const till = own("TILL", shortcode)
    const pulls = own("PULL", oneOf({ on: true, off: false })) ?? false
    const fees = contractFeesOf(reader, pricedPlaces)
    return needed && { baseUrl, timeoutMs, ...needed, till, pulls, fees }
  },
  // A shortcode outlives keys, passkeys and initiators.
  identity: ({ baseUrl, payoutShortcode, shortcode: own }, currency) =>
    currency === "KES" ? { within: environmentOf({ baseUrl }), own: Redacted.make(`${own}/${payoutShortcode}`) } : null,
  open: daraja
})
