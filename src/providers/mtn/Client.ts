import { Cache, Data, Duration, Effect, Exit, Option, Redacted, Schema } from "effect"
import { calling, timeLeft } from "../Client.ts"
import type { CollectionFee, PayoutFees } from "../ContractFees.ts"
import { exactJson, type ProviderResponse, type Transport } from "../Transport.ts"
import type { Market } from "./Networks.ts"
import { type Product, TokenAnswer, tokenPath } from "./Wire.ts"

/** Our account in one country: MTN contracts, hosts and credentials end at the border. */
export interface CountryAccount extends Market {
  /** Without a path: `https://proxy.momoapi.mtn.com`. */
  readonly baseUrl: string
  readonly userId: string
  readonly apiKey: Redacted.Redacted
  readonly subscriptionKeys: Readonly<Record<Product, Redacted.Redacted>>
}

export interface MtnSettings {
  /** At least one, each of another country and currency. */
  readonly countries: ReadonlyArray<CountryAccount>
  readonly payoutFees: PayoutFees
  readonly collectionFee: CollectionFee
  /** Where MTN shall call back, with the secret path; null leaves it to asking. */
  readonly callbackUrl: Redacted.Redacted | null
  /** For one call, its token included. */
  readonly timeoutMs: number
}

export interface Call {
  readonly operation: string
  readonly path: string
  /** A movement of money, which is posted; without it the path is read. */
  readonly movement?: { readonly referenceId: string; readonly body: object }
}

/** Authenticated calls to one product in one country. `until` is the moment at which the answer is no longer waited for. */
export type Client = (call: Call, until: number) => Effect.Effect<ProviderResponse>

/** One country's account, and a client for each of its products. */
export interface Branch extends Market {
  readonly clients: Readonly<Record<Product, Client>>
}

/** Before a token's end, so that none runs out on the way. */
const TOKEN_MARGIN_MS = 60_000
/** Whatever MTN says. */
const LONGEST_TOKEN_LIFE_MS = 3_600_000

class NoToken extends Data.TaggedError("NoToken")<{ readonly note: string }> {}

interface Token {
  readonly text: string
  readonly lifeMs: number
}

/** Without a token the call is `NotSent`. After a 401 it is made once more with a new one: a 401 proves that nothing was executed. */
export const openClient = Effect.fn("mtn.openClient")(function* (
  settings: MtnSettings,
  account: CountryAccount,
  product: Product,
  transport: Transport
) {
  const { callbackUrl } = settings
  const base = account.baseUrl.replace(/\/+$/, "")
  const subscription = { "ocp-apim-subscription-key": Redacted.value(account.subscriptionKeys[product]) }
  const callback: Readonly<Record<string, string>> = callbackUrl === null ? {} : { "x-callback-url": Redacted.value(callbackUrl) }

  const fetchToken = Effect.fnUntraced(function* () {
    const response = yield* transport.call({
      operation: "token",
      method: "POST",
      url: base + tokenPath(product),
      headers: { ...subscription, accept: "application/json", authorization: `Basic ${basic(account)}` },
      body: null,
      timeoutMs: settings.timeoutMs
    })
    return yield* tokenOf(response)
  })

  const once = calling(account.baseUrl, transport)

  // Callers that need a token at the same time wait for one request, and a refused one is not remembered.
  const tokens = yield* Cache.makeWith<"token", Token, NoToken>(fetchToken, {
    capacity: 1,
    timeToLive: (exit) => (Exit.isSuccess(exit) ? Duration.millis(exit.value.lifeMs) : Duration.zero)
  })

  const attempt = Effect.fnUntraced(function* ({ movement, operation, path }: Call, until: number) {
    const token = yield* Cache.get(tokens, "token").pipe(
      Effect.timeoutOrElse({
        duration: yield* timeLeft(until),
        orElse: () => Effect.fail(new NoToken({ note: "no token in time" }))
      })
    )
    const money = movement === undefined ? {} : { ...callback, "x-reference-id": movement.referenceId }
    const response = yield* once(
      movement === undefined ? { operation, method: "GET", path } : { operation, method: "POST", path, body: movement.body },
      until,
      { ...subscription, ...money, authorization: `Bearer ${token.text}`, "x-target-environment": account.environment }
    )
    const stale = response._tag === "Answered" && response.status === 401
    if (stale) yield* Cache.invalidateWhen(tokens, "token", (current) => current === token)
    return { response, stale }
  })

  const client: Client = (call, until) =>
    attempt(call, until).pipe(
      Effect.flatMap((first) => (first.stale ? attempt(call, until) : Effect.succeed(first))),
      Effect.map(({ response }) => response),
      Effect.catchTag("NoToken", ({ note }) => Effect.succeed<ProviderResponse>({ _tag: "NotSent", note }))
    )
  return client
})

const basic = ({ apiKey, userId }: CountryAccount): string =>
  Buffer.from(`${userId}:${Redacted.value(apiKey)}`).toString("base64")

const tokenOf = Effect.fnUntraced(function* (response: ProviderResponse) {
  if (response._tag !== "Answered") return yield* new NoToken({ note: `no token: ${response.note}` })
  const { status } = response
  if (status === 400 || status === 401 || status === 403) {
    yield* Effect.logError("MTN refuses the gateway's own credentials, its subscription or its address", { status })
  }
  const answer = status === 200 ? Option.flatMap(exactJson(response), Schema.decodeUnknownOption(TokenAnswer)) : Option.none()
  if (Option.isNone(answer)) return yield* new NoToken({ note: `no token: HTTP ${status}` })
  const { access_token: text, expires_in } = answer.value
  const told = /^\d{1,9}$/.test(expires_in) ? Number(expires_in) * 1000 : 0
  return { text, lifeMs: Math.max(0, Math.min(told, LONGEST_TOKEN_LIFE_MS) - TOKEN_MARGIN_MS) } satisfies Token
})
