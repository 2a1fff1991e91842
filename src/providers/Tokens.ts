import { Cache, Clock, Data, Duration, Effect, Exit, Option, Random, Redacted, Schema } from "effect"
import { CallKind, type TurnedAway, tellTurnedAway, withTurn } from "../runtime/CallTurn.ts"
import { decoded, isAnswered, logAlarm } from "./AnswerParsing.ts"
import { type Call, type Client, calling, timeLeft } from "./Client.ts"
import { MemoryOf, type SharedMemory } from "./SharedMemory.ts"
import type { ProviderCall, ProviderResponse, Transport } from "./Transport.ts"
import { Text } from "./WireNumber.ts"

class NoToken extends Data.TaggedError("NoToken")<{ readonly note: string; readonly away?: TurnedAway | null }> {}

export interface Token {
  readonly text: string
  readonly lifeMs: number
}

/** How a provider gives tokens out and takes them. */
interface TokenAccount<A> {
  readonly baseUrl: string
  /** For the token alone. */
  readonly timeoutMs: number
  readonly request: Pick<ProviderCall, "method" | "headers"> & {
    /** From the base URL on. */
    readonly path: string
    readonly body?: string
  }
  readonly schema: Schema.ConstraintDecoder<A>
  readonly tokenIn: (answer: A) => Token
  /** Statuses that refuse the gateway's own credentials, and what is logged then. */
  readonly refusing: ReadonlyArray<number>
  readonly alarm: string
  /** Beside the token in each call. */
  readonly headers: Readonly<Record<string, string>>
  /** Whether an answer says that the token has ended, which proves that nothing was executed; absent: a 401 does. */
  readonly endsToken?: (response: ProviderResponse) => boolean
  /** Where an account has one token at a time: the name by which all nodes share it. */
  readonly shared?: string
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
  const { endsToken = isUnauthorized, shared } = account
  const fetched = Effect.provideService(fetchToken(account, transport), CallKind, "quote")
  let ended: string | null = null
  const next =
    shared === undefined
      ? fetched
      : sharedToken(fetched, {
          memory: yield* MemoryOf,
          name: shared,
          isEnded: (text) => text === ended,
          leaseMs: account.timeoutMs + LEASE_MARGIN_MS
        })
  // Callers that need a token at the same time wait for one request, and a refused one is not remembered.
  const tokens = yield* Cache.makeWith<"token", Token, NoToken>(() => next, {
    capacity: 1,
    timeToLive: (exit) => (Exit.isSuccess(exit) ? Duration.millis(exit.value.lifeMs) : Duration.zero)
  })

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
    if (stale) {
      ended = token.text
      yield* Cache.invalidateWhen(tokens, "token", (current) => current === token)
    }
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
  { alarm, baseUrl, refusing, request: { path, ...request }, schema, timeoutMs, tokenIn }: TokenAccount<A>,
  transport: Transport
) {
  // Every call that needs the token waits for it: its request knows nothing of the call that began it.
  const url = baseUrl.replace(/\/+$/, "") + path
  const { away, exit } = yield* withTurn(transport.call({ body: null, ...request, url, timeoutMs, operation: "token" }), true)
  const response = yield* exit
  if (response._tag !== "Answered") return yield* new NoToken({ note: `no token: ${response.note}`, away })
  const { status } = response
  if (refusing.includes(status)) yield* Effect.annotateLogs(logAlarm(alarm), { status })
  const answer = decoded(schema, response, (one) => one === 200)
  if (Option.isNone(answer)) return yield* new NoToken({ note: `no token: HTTP ${status}`, away })
  return tokenIn(answer.value)
})

const LONGEST_LIFE_MS = 3_600_000

/** As OAuth writes them. */
const OAuthToken = Schema.Struct({ access_token: Schema.NonEmptyString, expires_in: Text })

/** Tokens of OAuth's form. Each is used for `marginMs` less than it lives, so that none runs out on the way. */
export const oauth = (marginMs: number) => ({
  schema: OAuthToken,
  tokenIn: ({ access_token: text, expires_in }: typeof OAuthToken.Type) => ({ text, lifeMs: lifeOf(expires_in, marginMs) }),
  refusing: [400, 401, 403]
})

/** As `Authorization` has them. */
export const basicCredentials = (user: string, password: Redacted.Redacted): string =>
  `Basic ${Buffer.from(`${user}:${Redacted.value(password)}`).toString("base64")}`

/** However long an answer says that it lives. */
const lifeOf = (seconds: string, marginMs: number): number => {
  const lifeMs = /^\d{1,9}$/.test(seconds) ? Number(seconds) * 1000 : 0
  return Math.max(0, Math.min(lifeMs, LONGEST_LIFE_MS) - marginMs)
}

interface Sharing {
  readonly memory: SharedMemory
  readonly name: string
  /** Whether the provider has answered that it does not take this one any more. */
  readonly isEnded: (text: string) => boolean
  readonly leaseMs: number
}

/** Beyond the call that gets a token. */
const LEASE_MARGIN_MS = 1_000
const SHARED_LOOK_MS = 50

const SharedText = Schema.fromJsonString(Schema.Struct({ text: Schema.String, until: Schema.Int }))
const readShared = Schema.decodeUnknownOption(SharedText)

/**
 * The token that all nodes have, unless it has ended: then one of them gets a new one, and the others wait for that. A node that dies over it holds
 * them up for as long as its call could have taken.
 */
const sharedToken = Effect.fnUntraced(
  function* (fetched: Effect.Effect<Token, NoToken>, { isEnded, leaseMs, memory, name }: Sharing) {
    const lease = `${name} lease`
    const shared = Effect.fnUntraced(function* () {
      const now = yield* Clock.currentTimeMillis
      const kept = Option.flatMap(yield* memory.get(name), (value) => readShared(Redacted.value(value)))
      return Option.map(
        Option.filter(kept, ({ text }) => !isEnded(text)),
        ({ text, until }): Token => ({ text, lifeMs: until - now })
      )
    })
    for (let waitedMs = 0; waitedMs <= leaseMs; waitedMs += SHARED_LOOK_MS) {
      const kept = yield* shared()
      if (Option.isSome(kept)) return kept.value
      const now = yield* Clock.currentTimeMillis
      if (yield* memory.claim(lease, now + leaseMs)) {
        const owner = String(yield* Random.next)
        yield* memory.put(lease, Redacted.make(owner), now + leaseMs)
        // It may have come between the look and the claim.
        const meanwhile = yield* shared()
        return yield* Effect.ensuring(
          Option.isSome(meanwhile) ? Effect.succeed(meanwhile.value) : Effect.tap(fetched, put(memory, name)),
          released(memory, lease, owner)
        )
      }
      yield* Effect.sleep(SHARED_LOOK_MS)
    }
    return yield* new NoToken({ note: "no token: another node is getting one" })
  },
  // A memory that is down is no reason to leave it open whether something was sent.
  Effect.catchDefect(() => new NoToken({ note: "no token: what the nodes share cannot be read" }))
)

/** A node that was slower than its lease leaves the one that another node has by now. */
const released = Effect.fnUntraced(function* (memory: SharedMemory, lease: string, owner: string) {
  const held = yield* memory.get(lease)
  if (Option.exists(held, (value) => Redacted.value(value) === owner)) yield* memory.take(lease)
})

const put =
  (memory: SharedMemory, name: string) =>
  ({ lifeMs, text }: Token) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      memory.put(name, Redacted.make(JSON.stringify({ text, until: now + lifeMs })), now + lifeMs)
    )
