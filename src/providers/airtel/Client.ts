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

/** Our application in one country: hosts, products, versions and keys end at the border. */
export interface CountryAccount extends Market, Dialect {
  readonly baseUrl: string
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted
  readonly pin: Redacted.Redacted
  /** `printed`: the PIN is what the portal printed, encrypted already. */
  readonly pinKey: KeyObject | "printed"
  readonly pinPadding: Padding
}

export interface AirtelSettings {
  /** At least one, each of another country. */
  readonly countries: ReadonlyArray<CountryAccount>
  readonly fees: ContractFees
  /** Whether the holder of a recipient's number is asked for before a payout. */
  readonly holderCheck: "name" | "off"
  /** Of the applications that authenticate their callbacks. */
  readonly callbackKeys: ReadonlyArray<Redacted.Redacted>
  /** The countries whose application may read its list of transactions. */
  readonly statementCountries: ReadonlyArray<MarketCountry>
  /** For one call, its token and its key included. */
  readonly timeoutMs: number
}

/** One country's application: free calls, and calls that move money, which are signed where that is agreed. */
export interface Application extends CountryAccount {
  readonly client: Client
  readonly post: (call: Call & { readonly body: object }, until: number) => Effect.Effect<Posted>
}

type Sender = (...call: Parameters<Application["post"]>) => Effect.Effect<ProviderResponse>

interface Posted {
  readonly response: ProviderResponse
  /** Sent once more, after an answer that proved that nothing was executed: for its token, or its signature. */
  readonly isRepeated: boolean
}

/** How often the call that moves money has left; null around every other call. */
const Sendings = Context.Reference<{ count: number } | null>("gateway/providers/airtel/Sendings", { defaultValue: () => null })

/** The one operation whose calls carry the PIN. */
const PAYOUT: PaymentKind = "payout"
const MONEY: ReadonlyArray<string> = [PAYOUT, "collection"] satisfies ReadonlyArray<PaymentKind>
/** Of 180 s. */
const TOKEN_MARGIN_MS = 30_000
/** With the key at hand, and once more with a new one: what is refused for its signature moved nothing. */
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
        // The call before it has left, and its answer stands.
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

/** The public key of the application; undefined where it is not given. */
const keyBy = Effect.fnUntraced(function* (client: Client, until: number) {
  const response = yield* client({ operation: "encryption_key", method: "GET", path: KEYS_PATH }, until)
  const answer = Option.getOrUndefined(decoded(KeyAnswer, response))
  return answer === undefined ? undefined : publicKeyIn("data" in answer ? answer.data.key : answer.key)
})

const AES_KEY_BYTES = 32
const IV_BYTES = 16

/** The exact bytes of a body under a key of its own, and that key under Airtel's. The body itself is sent in clear. */
export const signatureOf = (body: string, key: KeyObject, aesKey: Buffer, iv: Buffer) => {
  const cipher = createCipheriv("aes-256-cbc", aesKey, iv)
  return {
    "x-signature": Buffer.concat([cipher.update(body, "utf8"), cipher.final()]).toString("base64"),
    "x-key": encryptedUnder(key, "pkcs1", `${aesKey.toString("base64")}:${iv.toString("base64")}`)
  }
}
