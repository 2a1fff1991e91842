import { createPrivateKey, type KeyObject } from "node:crypto"
import { Option, Redacted, Schema } from "effect"
import { list, type Rule, secret } from "../../ConfigRules.ts"
import { contractFeesOf } from "../FeeSchedule.ts"
import { knownProvider } from "../ProviderModule.ts"
import { pawapay } from "./Adapter.ts"
import { authorityOf } from "./Callback.ts"
import { publicKeyOf } from "./CallbackKeys.ts"
import type { PawapaySettings, SigningKey } from "./Client.ts"
import { pricedPlaces } from "./Networks.ts"
import { FILE_HOSTS } from "./Statement.ts"

const callbackKey: Rule<KeyObject> = {
  meaning: "a public key on P-256, as PEM or as base64",
  of: publicKeyOf,
  isSecret: true
}

const signingKey: Rule<SigningKey> = {
  meaning: "the name that pawaPay has for the key, a colon, and a private key on P-256, as PEM or as the base64 of PKCS #8",
  of: (value) => {
    const [, id = "", text = ""] = /^([\w.-]{1,128}):\s*(.+)$/s.exec(value.replaceAll("\\n", "\n")) ?? []
    const key = Option.getOrUndefined(readPrivate(text))
    return key?.asymmetricKeyDetails?.namedCurve === "prime256v1" ? { id, key } : undefined
  },
  isSecret: true
}

const readPrivate = Option.liftThrowable((text: string) =>
  text.startsWith("-----")
    ? createPrivateKey(text)
    : createPrivateKey({ key: Buffer.from(text, "base64"), format: "der", type: "pkcs8" })
)

/** As in a signature: lower case, without the scheme's default port. */
const authority: Rule<string> = {
  meaning: "a host name, with its port where that is not 443 or 80 (pay.example.com), and no scheme or path",
  of: (value) => {
    const host = authorityOf(value)
    return URL.canParse(`https://${host}`) && new URL(`https://${host}`).host === host ? host : undefined
  }
}

/** An IP address or a single-label name would be a machine of the local network. */
const hostName: Rule<string> = {
  meaning: "a host name of at least two parts (files.example.com), or all below one (*.example.com), and no scheme, port or path",
  of: (value) =>
    /^(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/i.test(value)
      ? value.toLowerCase()
      : undefined
}

/**
 * `PAWAPAY_BASE_URL`, the contract's fees, optionally `PAWAPAY_CALLBACK_HOSTS` and `PAWAPAY_STATEMENT_HOSTS`, and for each mode
 * `API_TOKEN`, optionally `SIGNING_KEY` and `CALLBACK_KEY`.
 */
export const pawapayProvider = knownProvider<PawapaySettings>({
  name: "pawapay",
  credentials: ["API_TOKEN"],
  contract: { places: pricedPlaces, fees: ({ fees }) => fees },
  // pawaPay documents no limit; this is our choice.
  pace: { count: 10, windowMs: 1_000, burst: 10 },
  account: (reader) => {
    const { baseUrl, own, shared, timeoutMs } = reader
    const apiToken = own("API_TOKEN", secret)
    const signing = own("SIGNING_KEY", signingKey)
    const key = own("CALLBACK_KEY", callbackKey)
    const callbackHosts = shared("CALLBACK_HOSTS", list(authority))
    const statementHosts = shared("STATEMENT_HOSTS", list(hostName))
    const fees = contractFeesOf(reader, pricedPlaces)
    if (apiToken === null) return null
    return {
      baseUrl,
      timeoutMs,
      apiToken,
      signingKey: signing,
      callbackKey: key,
      callbackHosts: callbackHosts ?? [],
      statementHosts: statementHosts ?? FILE_HOSTS,
      fees
    }
  },
  identity: ({ apiToken, baseUrl }) => ({
    within: new URL(baseUrl).hostname.split(".").includes("sandbox") ? "sandbox" : "",
    own: customerOf(apiToken)
  }),
  open: pawapay
})

const Claims = Schema.fromJsonString(Schema.Struct({ sub: Schema.String }))

/** The customer that the token belongs to, which is the same in each of its tokens; the token itself when it names none. */
const customerOf = (token: Redacted.Redacted): Redacted.Redacted => {
  const [, claims = ""] = Redacted.value(token).split(".")
  const read = Schema.decodeUnknownOption(Claims)(Buffer.from(claims, "base64url").toString("utf8"))
  return Option.match(read, { onNone: () => token, onSome: ({ sub }) => Redacted.make(sub) })
}
