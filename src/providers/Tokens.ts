import { Cache, Data, Duration, Effect, Exit, Option, Random, type Schema } from "effect"
import { CallKind, type TurnedAway, tellTurnedAway, withTurn } from "../runtime/CallTurn.ts"
import { decoded, isAnswered, logAlarm } from "./AnswerParsing.ts"
import { type Call, type Client, calling, timeLeft } from "./Client.ts"
import type { ProviderCall, ProviderResponse, Transport } from "./Transport.ts"

class NoToken extends Data.TaggedError("NoToken")<{ readonly note: string; readonly away?: TurnedAway | null }> {}

export interface Token {
  readonly text: string
  readonly lifeMs: number
}

/** How a provider gives tokens out and takes them. */
interface TokenAccount<A> {
  readonly baseUrl: string
  readonly request: Omit<ProviderCall, "operation" | "body"> & { readonly body?: string }
  readonly schema: Schema.ConstraintDecoder<A>
  readonly tokenIn: (answer: A) => Token
  /** Statuses that refuse the gateway's own credentials, and what is logged then. */
  readonly refusing: ReadonlyArray<number>
  readonly alarm: string
  /** Beside the token in each call. */
  readonly headers: Readonly<Record<string, string>>
  /** Whether an answer says that the token has ended, which proves that nothing was executed; absent: a 401 does. */
  readonly endsToken?: (response: ProviderResponse) => boolean
}

/**
 * Where a provider has one token of an account at a time, each node's new one ends the other's. After so many, a 401 is not about the token. Before
 * the first new one nobody waits; after it the nodes have to get out of each other's way.
 */
const TOKENS_AT_MOST = 4
const LONGEST_PAUSE_MS = 100

/**
 * Without a token the call is `NotSent`. After a 401 it is made again with a new one: a 401 proves that nothing was executed. A call that
 * keeps the token is answered with its 401.
 */
export const tokenClient = Effect.fn("tokenClient")(function* <A>(account: TokenAccount<A>, transport: Transport) {
  const once = calling(account.baseUrl, transport)
  const { endsToken = isUnauthorized } = account
  // Callers that need a token at the same time wait for one request, and a refused one is not remembered.
  const tokens = yield* Cache.makeWith<"token", Token, NoToken>(
    () => Effect.provideService(fetchToken(account, transport), CallKind, "quote"),
    {
      capacity: 1,
      timeToLive: (exit) => (Exit.isSuccess(exit) ? Duration.millis(exit.value.lifeMs) : Duration.zero)
    }
  )

  const callWithToken = Effect.fnUntraced(function* (call: Call, until: number) {
    const kept = yield* Cache.getSuccess(tokens, "token")
    const token = Option.isSome(kept)
      ? kept.value
      : yield* Effect.timeoutOrElse(Cache.get(tokens, "token"), {
          duration: yield* timeLeft(until),
          orElse: () => Effect.fail(new NoToken({ note: "no token in time" }))
        })
    const response = yield* once(call, until, { ...account.headers, authorization: `Bearer ${token.text}` })
    const stale = endsToken(response) && call.keepsToken !== true
    if (stale) yield* Cache.invalidateWhen(tokens, "token", (current) => current === token)
    return { response, stale }
  })

  const withTokens = Effect.fnUntraced(function* (call: Call, until: number) {
    let answered = yield* callWithToken(call, until)
    for (let tokens = 1; answered.stale && tokens < TOKENS_AT_MOST; tokens++) {
      if (tokens > 1) yield* Effect.sleep((yield* Random.next) * LONGEST_PAUSE_MS * tokens)
      answered = yield* callWithToken(call, until)
    }
    return answered
  })

  const client: Client = (call, until) =>
    withTokens(call, until).pipe(
      Effect.map(({ response }) => response),
      Effect.catchTag("NoToken", ({ away = null, note }) =>
        Effect.map(away === null ? Effect.void : tellTurnedAway(away), (): ProviderResponse => ({ _tag: "NotSent", note }))
      )
    )
  return client
})

const isUnauthorized = (response: ProviderResponse): boolean => isAnswered(response, 401)

const fetchToken = Effect.fnUntraced(function* <A>(
  { alarm, refusing, request, schema, tokenIn }: TokenAccount<A>,
  transport: Transport
) {
  // Every call that needs the token waits for it: its request knows nothing of the call that began it.
  const { away, exit } = yield* withTurn(transport.call({ body: null, ...request, operation: "token" }), true)
  const response = yield* exit
  if (response._tag !== "Answered") return yield* new NoToken({ note: `no token: ${response.note}`, away })
  const { status } = response
  if (refusing.includes(status)) yield* Effect.annotateLogs(logAlarm(alarm), { status })
  const answer = decoded(schema, response, (one) => one === 200)
  if (Option.isNone(answer)) return yield* new NoToken({ note: `no token: HTTP ${status}`, away })
  return tokenIn(answer.value)
})
