import { createCipheriv, type KeyObject, randomBytes } from "node:crypto"
import { Context, Effect, Option, Redacted } from "effect"
import { json, RawJson } from "../../domain/Json.ts"
import type { PaymentKind } from "../../domain/Payment.ts"
import { decoded } from "../AnswerParsing.ts"
import type { Call, Client } from "../Client.ts"
import type { ContractFees } from "../ContractFees.ts"
import { encryptedUnder, type Padding, publicKeyIn } from "../PublicKeys.ts"
import { oauth, tokenClient } from "../Tokens.ts"
import type { ProviderResponse, Transport } from "../Transport.ts"
import type { Market, MarketCountry } from "./Networks.ts"
import { isTokenRefused, says } from "./Refusals.ts"
import { refusedPin } from "./RefusedPin.ts"
import { showsTransaction } from "./Translate.ts"
import { type Dialect, KEYS_PATH, KeyAnswer, TOKEN_PATH } from "./Wire.ts"

/** Our application in one country: hosts, products, versions and keys differ by country. */
export interface CountryAccount extends Market, Dialect {
  readonly baseUrl: string
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted
  readonly pin: Redacted.Redacted
  /** `printed`: the PIN is in the encrypted form that the portal printed. */
  readonly pinKey: KeyObject | "printed"
  readonly pinPadding: Padding
}

export interface AirtelSettings {
  /** At least one, each in another country. */
  readonly countries: ReadonlyArray<CountryAccount>
  readonly fees: ContractFees
  /** Whether to look up the holder of a recipient's number before a payout. */
  readonly holderCheck: "name" | "off"
  /** For applications that authenticate their callbacks. */
  readonly callbackKeys: ReadonlyArray<Redacted.Redacted>
  /** The countries whose application may read its list of transactions. */
  readonly statementCountries: ReadonlyArray<MarketCountry>
  /** For one call, including its token and its key. */
  readonly timeoutMs: number
}

/** One country's application. `client` makes free calls; `post` moves money, signed where the country requires it. */
export interface Application extends CountryAccount {
  readonly client: Client
  readonly post: (call: Call & { readonly body: object }, until: number) => Effect.Effect<Posted>
}

type Sender = (...call: Parameters<Application["post"]>) => Effect.Effect<ProviderResponse>

interface Posted {
  readonly response: ProviderResponse
  /** The call was retried for a new token or signature, after a response that proved that nothing was executed. */
  readonly isRepeated: boolean
}

/** How often the current money call was sent; null outside one. */
const Sendings = Context.Reference<{ count: number } | null>("gateway/providers/airtel/Sendings", { defaultValue: () => null })

/** The one operation whose calls contain the PIN. */
const PAYOUT: PaymentKind = "payout"
const MONEY: ReadonlyArray<string> = [PAYOUT, "collection"] satisfies ReadonlyArray<PaymentKind>
/** Of a lifetime of 180 s. */
const TOKEN_MARGIN_MS = 30_000
/** Once with the cached key and once with a new one: a call that is refused for its signature moved nothing. */
const SIGNED_AT_MOST = 2

export const openApplication = (timeoutMs: number) =>
  Effect.fnUntraced(function* (account: CountryAccount, transport: Transport) {
    const { baseUrl, clientId, clientSecret, country, currency, isSigned } = account
    const headers = { accept: "*/*", "content-type": "application/json" }
    const pin = yield* refusedPin(account)
    const client = yield* tokenClient(
      {
        baseUrl,
        timeoutMs,
        request: {
          method: "POST",
          path: TOKEN_PATH,
          headers,
          body: json({ client_id: clientId, client_secret: Redacted.value(clientSecret), grant_type: "client_credentials" })
        },
        ...oauth(TOKEN_MARGIN_MS),
        alarm: "Airtel refuses the gateway's own credentials, or its address",
        headers: { ...headers, "x-country": country, "x-currency": currency },
        endsToken: (response) => isTokenRefused(response) && !showsTransaction(response)
      },
      {
        call: Effect.fnUntraced(function* (call) {
          const sendings = yield* Sendings
          if (sendings !== null && MONEY.includes(call.operation)) sendings.count += 1
          return yield* transport.call({ ...call, ...(call.operation === PAYOUT && { heldBack: pin.heldBack }) })
        })
      }
    )
    let kept: KeyObject | undefined
    const signed: Sender = Effect.fnUntraced(function* ({ body, ...call }, until) {
      const text = json(body)
      let refused: ProviderResponse | undefined
      for (let times = 1; ; times++) {
        const key = kept ?? (yield* keyBy(client, until))
        if (key === undefined) return refused ?? { _tag: "NotSent", note: "no key to sign with" }
        kept = key
        const signature = signatureOf(text, key, randomBytes(AES_KEY_BYTES), randomBytes(IV_BYTES))
        const response = yield* client({ ...call, body: new RawJson(text), headers: signature }, until)
        // The call before this one was sent, so its response stands.
        if (response._tag === "NotSent") return refused ?? response
        if (!says("signature", response) || showsTransaction(response) || times >= SIGNED_AT_MOST) return response
        refused = response
        if (kept === key) kept = undefined
      }
    })
    const post: Sender = isSigned ? signed : client
    return {
      ...account,
      client,
      post: Effect.fnUntraced(function* (call, until) {
        const sendings = { count: 0 }
        const response = yield* Effect.provideService(post(call, until), Sendings, sendings)
        if (call.operation === PAYOUT && says("pin", response)) yield* pin.note
        return { response, isRepeated: sendings.count > 1 }
      })
    } satisfies Application
  })

/** The application's public key; undefined when the response has none. */
const keyBy = Effect.fnUntraced(function* (client: Client, until: number) {
  const response = yield* client({ operation: "encryption_key", method: "GET", path: KEYS_PATH }, until)
  const answer = Option.getOrUndefined(decoded(KeyAnswer, response))
  return answer === undefined ? undefined : publicKeyIn("data" in answer ? answer.data.key : answer.key)
})

const AES_KEY_BYTES = 32
const IV_BYTES = 16

/** Encrypts a body's exact bytes under a new AES key, and that under Airtel's public key. The body itself is sent plain. */
export const signatureOf = (body: string, key: KeyObject, aesKey: Buffer, iv: Buffer) => {
  const cipher = createCipheriv("aes-256-cbc", aesKey, iv)
  return {
    "x-signature": Buffer.concat([cipher.update(body, "utf8"), cipher.final()]).toString("base64"),
    "x-key": encryptedUnder(key, "pkcs1", `${aesKey.toString("base64")}:${iv.toString("base64")}`)
  }
}
