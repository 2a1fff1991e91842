import { Cache, Clock, Data, Duration, Effect, Exit, Option, Random, Redacted, Schema } from "effect"
import { CallKind, type TurnedAway, tellTurnedAway, withTurn } from "../runtime/CallTurn.ts"
import { LeavesBy } from "../runtime/LatestTime.ts"
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

/** How a provider issues and accepts tokens. */
interface TokenAccount<A> {
  readonly baseUrl: string
  /** For the token request alone. */
  readonly timeoutMs: number
  readonly request: Pick<ProviderCall, "method" | "headers"> & {
    /** Relative to the base URL. */
    readonly path: string
    readonly body?: string
  }
  readonly schema: Schema.ConstraintDecoder<A>
  readonly tokenIn: (answer: A) => Token
  /** Statuses that refuse the gateway's credentials, and the alarm for them. */
  readonly refusing: ReadonlyArray<number>
  readonly alarm: string
  /** Sent with each call in addition to the token. */
  readonly headers: Readonly<Record<string, string>>
  /** Whether a response says that the token has expired, which proves that nothing was executed; absent: a 401 does. */
  readonly endsToken?: (response: ProviderResponse) => boolean
  /** For an account with one valid token at a time: the name under which all nodes share it. */
  readonly shared?: string
}

/**
 * When an account has one valid token at a time, each node's new token ends the other's. After this many tokens, a 401 is not
 * about the token. The first renewal does not wait; later ones pause at random, so that nodes stop interfering with each other.
 */
const TOKENS_AT_MOST = 4
const LONGEST_PAUSE_MS = 100

/**
 * Without a token the call is `NotSent`. After a 401 it is retried with a new token: a 401 proves that nothing was executed. A
 * call with `keepsToken` returns its 401.
 */
export const tokenClient = Effect.fn("tokenClient")(function* <A>(account: TokenAccount<A>, transport: Transport) {
  const once = calling(account.baseUrl, transport)
  const { endsToken = isUnauthorized, shared } = account
  // It serves every waiting call, whatever the payment is and how late it is for which it was begun.
  const fetched = fetchToken(account, transport).pipe(
    Effect.provideService(CallKind, "quote"),
    Effect.provideService(LeavesBy, null)
  )
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
  // Concurrent callers share one token request; a failed one is not cached.
  const tokens = yield* Cache.makeWith<"token", Token, NoToken>(() => next, {
    capacity: 1,
    timeToLive: (exit) => (Exit.isSuccess(exit) ? Duration.millis(exit.value.lifeMs) : Duration.zero)
  })

  const tokenWithin = Effect.fnUntraced(function* (until: number) {
    const inTime = { duration: yield* timeLeft(until), orElse: () => Effect.fail(new NoToken({ note: "no token in time" })) }
    return yield* Effect.timeoutOrElse(Cache.get(tokens, "token"), inTime)
  })

  const withTokens = Effect.fnUntraced(function* (call: Call, until: number) {
    for (let used = 1; ; used++) {
      const kept = yield* Cache.getSuccess(tokens, "token")
      const token = Option.isSome(kept) ? kept.value : yield* tokenWithin(until)
      const response = yield* once(call, until, { ...account.headers, authorization: `Bearer ${token.text}` })
      if (!endsToken(response) || call.keepsToken === true) return response
      ended = token.text
      yield* Cache.invalidateWhen(tokens, "token", (current) => current === token)
      if (used === TOKENS_AT_MOST) return response
      if (used > 1) yield* Effect.sleep((yield* Random.next) * LONGEST_PAUSE_MS * used)
    }
  })

  const client: Client = (call, until) =>
    Effect.catchTag(withTokens(call, until), "NoToken", ({ away = null, note }) =>
      Effect.map(away === null ? Effect.void : tellTurnedAway(away), (): ProviderResponse => ({ _tag: "NotSent", note }))
    )
  return client
})

const isUnauthorized = (response: ProviderResponse): boolean => isAnswered(response, 401)

const fetchToken = Effect.fnUntraced(function* <A>(
  { alarm, baseUrl, refusing, request: { path, ...request }, schema, timeoutMs, tokenIn }: TokenAccount<A>,
  transport: Transport
) {
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

const OAuthToken = Schema.Struct({ access_token: Schema.NonEmptyString, expires_in: Text })

/** OAuth tokens. Each is used `marginMs` shorter than its lifetime, so that it does not expire in transit. */
export const oauth = (marginMs: number) => ({
  schema: OAuthToken,
  tokenIn: ({ access_token: text, expires_in }: typeof OAuthToken.Type) => ({ text, lifeMs: lifeOf(expires_in, marginMs) }),
  refusing: [400, 401, 403]
})

/** For the `Authorization` header. */
export const basicCredentials = (user: string, password: Redacted.Redacted): string =>
  `Basic ${Buffer.from(`${user}:${Redacted.value(password)}`).toString("base64")}`

/** Bounded, however long a response says that the token lives. */
const lifeOf = (seconds: string, marginMs: number): number => {
  const lifeMs = /^\d{1,9}$/.test(seconds) ? Number(seconds) * 1000 : 0
  return Math.max(0, Math.min(lifeMs, LONGEST_LIFE_MS) - marginMs)
}

interface Sharing {
  readonly memory: SharedMemory
  readonly name: string
  /** Whether the provider has rejected this token as expired. */
  readonly isEnded: (text: string) => boolean
  readonly leaseMs: number
}

/** Added to the time limit of the token request. */
const LEASE_MARGIN_MS = 1_000
const SHARED_LOOK_MS = 50

const SharedText = Schema.fromJsonString(Schema.Struct({ text: Schema.String, until: Schema.Int }))
const readShared = Schema.decodeUnknownOption(SharedText)

/** The token that all nodes share. One node renews it while the others wait, at most until its lease ends. */
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
        // A new token may have arrived between the read and the claim.
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
  // When the memory is down, the call is definitely not sent, so its outcome is known.
  Effect.catchDefect(() => new NoToken({ note: "no token: what the nodes share cannot be read" }))
)

/** A node that was slower than its lease must not release the lease of another node. */
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
