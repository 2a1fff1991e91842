import { Cache, Data, Duration, Effect, Exit, Option, Redacted, Schema } from "effect"
import { type Call, type Client, calling, timeLeft } from "../Client.ts"
import { exactJson, type ProviderCall, type ProviderResponse, type Transport } from "../Transport.ts"
import { TokenAnswer } from "./Wire.ts"

/** One merchant account at Eversend. */
export interface EversendSettings {
  /** With the version: `https://api.eversend.co/v1`. */
  readonly baseUrl: string
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted
  /** Without it no callback can be told from a forged one, and all are refused. */
  readonly webhookSecret: Redacted.Redacted | null
  /** The domain that the account registered, where Eversend asks for it. */
  readonly origin: string | null
  /** For one call, its token included. */
  readonly timeoutMs: number
}

/** An account whose callbacks can be told from forged ones: one that is configured always can. */
export interface EversendAccount extends EversendSettings {
  readonly webhookSecret: Redacted.Redacted
}

/** How long a token is used: Eversend does not say how long it lives, and integrations that were seen work keep it this long. */
const TOKEN_LIFE = Duration.minutes(20)

class NoToken extends Data.TaggedError("NoToken")<{ readonly note: string }> {}

/** Without a token the call is `NotSent`. After a 401 it is made once more with a new one: a 401 proves that nothing was executed. */
export const openClient = Effect.fn("eversend.openClient")(function* (settings: EversendSettings, transport: Transport) {
  const base = settings.baseUrl.replace(/\/+$/, "")
  const origin: Readonly<Record<string, string>> = settings.origin === null ? {} : { origin: settings.origin }

  const once = calling(settings.baseUrl, transport)

  // Callers that need a token at the same time wait for one request, and a refused one is not remembered.
  const tokens = yield* Cache.makeWith<"token", string, NoToken>(() => fetchToken(settings, base, origin, transport), {
    capacity: 1,
    timeToLive: (exit) => (Exit.isSuccess(exit) ? TOKEN_LIFE : Duration.zero)
  })

  const attempt = Effect.fnUntraced(function* (call: Call, until: number) {
    const kept = yield* Cache.getSuccess(tokens, "token")
    const token = Option.isSome(kept)
      ? kept.value
      : yield* Effect.timeoutOrElse(Cache.get(tokens, "token"), {
          duration: yield* timeLeft(until),
          orElse: () => Effect.fail(new NoToken({ note: "no token in time" }))
        })
    const response = yield* once(call, until, { ...origin, authorization: `Bearer ${token}` })
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

const fetchToken = Effect.fnUntraced(function* (
  { clientId, clientSecret, timeoutMs }: EversendSettings,
  base: string,
  origin: Readonly<Record<string, string>>,
  transport: Transport
) {
  const exchange: ProviderCall = {
    operation: "token",
    method: "GET",
    url: `${base}/auth/token`,
    headers: { ...origin, accept: "application/json", clientId, clientSecret: Redacted.value(clientSecret) },
    body: null,
    timeoutMs
  }
  const response = yield* transport.call(exchange)
  if (response._tag !== "Answered") return yield* new NoToken({ note: `no token: ${response.note}` })
  const { status } = response
  if (status === 401 || status === 403) {
    yield* Effect.logError("Eversend refuses the gateway's own credentials, its address or its origin", { status })
  }
  const answer = status === 200 ? Option.flatMap(exactJson(response), Schema.decodeUnknownOption(TokenAnswer)) : Option.none()
  if (Option.isNone(answer)) return yield* new NoToken({ note: `no token: HTTP ${status}` })
  return answer.value.token
})
