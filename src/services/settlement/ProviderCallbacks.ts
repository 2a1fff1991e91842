import { createHash } from "node:crypto"
import { Clock, Context, Effect, Exit, Metric, Option } from "effect"
import { confirms, contradicts, type Reported } from "../../domain/CallbackReport.ts"
import { RateLimited, Unauthorized } from "../../domain/errors/Retriable.ts"
import { NotFound } from "../../domain/errors/Terminal.ts"
import { Mode, type Reference, referenceFrom } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import { maskedProviderCall } from "../../domain/Masking.ts"
import { isTerminal } from "../../domain/Payment.ts"
import { pollLeaseMs } from "../../domain/TimeLimits.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { currentTraceparent, inTraceOf } from "../../runtime/Tracing.ts"
import { makeWorker } from "../../runtime/Worker.ts"
import { Policy } from "../ports/Policy.ts"
import type { Callbacks, RawCallback } from "../ports/Provider.ts"
import {
  type Callback,
  type CallbackHint,
  type LeasedCallback,
  type NextLook,
  ProviderInbox,
  type Tries
} from "../ports/ProviderInbox.ts"
import { ProviderRegistry } from "../ports/ProviderRegistry.ts"
import { RateLimits } from "../ports/RateLimits.ts"
import { type StoredTransaction, Transactions } from "../ports/Transactions.ts"
import { makeCallbackCounts } from "./CallbackCounts.ts"
import { OutcomePoller, type Polled } from "./OutcomePoller.ts"
import { makeSharedPolls } from "./SharedPolls.ts"

/** How many callbacks are processed at once. */
const SLOTS = 32
/** How often due callbacks are claimed when none arrives. */
const IDLE_MS = 1_000
/** A callback waits so long for a running poll, then is retried: its lease covers a poll and twice this time. */
const TURN_WITHIN_MS = 5_000
/** The number of callbacks whose receiving span is remembered; the oldest are forgotten first. */
const RECEIVING_SPANS_KEPT = 1_000

const byPathBefore = Metric.counter("gateway_callbacks_by_path_before_total", {
  description: "Callbacks that came to a path which has a newer one: the new one still has to be registered at the provider.",
  incremental: true
})

/** Receives providers' callbacks. They are never trusted: each triggers a poll about one transaction. */
export class ProviderCallbacks extends Context.Service<
  ProviderCallbacks,
  {
    /** Whether a callback path is one of ours. Nothing is stored. The time does not depend on the key. */
    readonly knows: (provider: string, routeKey: string) => boolean
    /** Stores a callback durably before the response; repeated bytes only once. Too many that match nothing are refused. */
    readonly receive: (
      provider: string,
      routeKey: string,
      callback: RawCallback
    ) => Effect.Effect<"stored", NotFound | Unauthorized | RateLimited>
    /** Processes every due callback, and returns how many. */
    readonly round: Effect.Effect<number>
    readonly run: Effect.Effect<never>
  }
>()("gateway/services/ProviderCallbacks") {
  static readonly layer = layerOf(ProviderCallbacks)(function* () {
    const registry = yield* ProviderRegistry
    const inbox = yield* ProviderInbox
    const transactions = yield* Transactions
    const poller = yield* OutcomePoller
    const policy = yield* Policy
    const unmatched = yield* makeUnmatchedCallbacks
    const count = yield* makeCallbackCounts

    /** The spans in which callbacks were received here, until first processed. One processed by another node has no such link. */
    const receivingSpans = new Map<Reference, string>()

    const rememberReceivingSpan = Effect.fnUntraced(function* (id: Reference) {
      const traceparent = yield* currentTraceparent
      const [oldest] = receivingSpans.keys()
      if (oldest !== undefined && receivingSpans.size >= RECEIVING_SPANS_KEPT) receivingSpans.delete(oldest)
      if (traceparent !== null) receivingSpans.set(id, traceparent)
    })

    const leaseMs = pollLeaseMs(policy.providerTimeoutMs)

    const claim = Effect.fnUntraced(function* (free: number) {
      return yield* inbox.claimDue(yield* Clock.currentTimeMillis, free, leaseMs)
    })

    const find = transactionOf(transactions)

    /** Runs in the trace of the transaction that it leads to, linked to the request that delivered it. */
    const look = Effect.fnUntraced(function* (callback: LeasedCallback) {
      const receiving = receivingSpans.get(callback.id) ?? null
      receivingSpans.delete(callback.id)
      // A callback that is about to be parked is not looked up, because the lookup may be what never finishes.
      const search = yield* Effect.exit(callback.claims > CLAIMS_AT_MOST ? Effect.succeedNone : find(callback))
      const begun = Exit.isSuccess(search) ? Option.getOrUndefined(search.value)?.traceparent : null
      yield* inTraceOf("ProviderCallbacks.look", begun, { alsoOf: [receiving] })(lookInto(callback, search))
    })

    const lookInto = Effect.fnUntraced(
      function* (callback: LeasedCallback, search: Exit.Exit<Option.Option<Named>>) {
        if (callback.claims > CLAIMS_AT_MOST) {
          yield* Effect.logWarning("a callback is parked: none of the looks into it came to an end")
          return yield* inbox.retryAt(callback, afterLastClaim(callback))
        }
        if (Exit.isFailure(search)) {
          yield* Effect.logError("whose a callback is could not be read", search.cause)
          return yield* inbox.retryAt(callback, afterNoLook(callback, yield* Clock.currentTimeMillis))
        }
        const found = Option.getOrUndefined(search.value)
        if (found === undefined) {
          yield* unmatched.note(callback)
          return yield* lookAgain(callback, "it matched nothing")
        }
        const { reference } = found.transaction
        const { says: said = null } = callback.hint
        // When several records share the handle, the callback's report counts for none of them.
        const says = found.sharing === 1 ? said : null
        const polled = Option.getOrUndefined(yield* poll(found, callback, says))
        if (polled?.turnedAway === true)
          return yield* inbox.retryAt(callback, afterNoLook(callback, yield* Clock.currentTimeMillis))
        if (polled === undefined || !polled.learnt) return yield* lookAgain(callback, "nothing was learnt")
        const { record } = polled
        const hasMoved = record.version !== found.transaction.version
        if (!hasMoved && callback.looks < found.sharing - 1) return yield* lookAgain(callback, "others have the same reference")
        // Once an operator has the record, an authenticated report is added to what the operator reads.
        if (record.needsReview && (isAuthenticated(callback) || !contradicts(record, says)))
          return yield* inbox.markProcessed(callback, reference)
        if (contradicts(record, says)) return yield* lookAgain(callback, "it contradicts what the provider answers")
        const isNews = hasMoved || !isTerminal(record) || confirms(record, says)
        const next = isNews ? null : afterNothingNew(callback, yield* Clock.currentTimeMillis)
        yield* next === null ? inbox.markProcessed(callback, reference) : inbox.retryAt(callback, next)
      },
      (effect, { id, mode, provider }) => {
        const names = { callback_id: id, provider, mode }
        return Effect.andThen(Effect.annotateCurrentSpan(names), effect).pipe(
          Effect.annotateLogs(names),
          Effect.annotateSpans(names)
        )
      }
    )

    const lookAgain = Effect.fnUntraced(function* (callback: LeasedCallback, because: string) {
      const next = afterVainLook(callback, yield* Clock.currentTimeMillis)
      if (next.at === null) yield* Effect.annotateLogs(Effect.logWarning("a callback is parked"), { note: because })
      yield* inbox.retryAt(callback, next)
    })

    /** A callback without authentication is left out of the history: any client that knows the URL can send one. */
    const isAuthenticated = ({ mode, provider }: Callback) =>
      Option.exists(registry.find(provider, mode), ({ guarantees }) => guarantees.callbackAuth !== "none")

    const shared = makeSharedPolls<Polled>(TURN_WITHIN_MS)

    // A poll that failed has no result, and the callback must still be parked eventually.
    const poll = Effect.fnUntraced(function* (stored: StoredTransaction, callback: Callback, says: Reported | null) {
      const { reference } = stored.transaction
      const once = (waited: boolean, said: ReadonlyArray<Reported>) =>
        // A record that was read before another poll ended is read again.
        Effect.flatMap(waited ? transactions.byReference(reference) : Effect.succeed(Option.some(stored)), (current) =>
          Effect.transposeOption(Option.map(current, (one) => poller.poll(one, "callback", said)))
        )
      const exit = yield* Effect.exit(shared(reference, isAuthenticated(callback) ? says : null, once))
      if (Exit.isSuccess(exit)) return exit.value
      yield* Effect.logError("the poll for a callback broke", exit.cause)
      return Option.none()
    })

    const worker = yield* makeWorker({ name: "ProviderCallbacks", slots: SLOTS, idleMs: IDLE_MS, claim, work: look })

    // The span of its request shows what it contained.
    const receive = Effect.fnUntraced(function* (provider: string, routeKey: string, callback: RawCallback) {
      const account = Option.getOrUndefined(registry.byRouteKey(provider, routeKey))
      if (account === undefined) return yield* new NotFound()
      const hint = Option.getOrUndefined(yield* verify(account.callbacks, callback))
      if (hint === undefined) {
        yield* count(account, "refused")
        return yield* new Unauthorized()
      }
      if (routeKey !== registry.routeKey(account.name, account.mode))
        yield* Metric.update(Metric.withAttributes(byPathBefore, { provider: account.name, mode: account.mode }), 1)
      // Before the poll, whose result may depend on it.
      yield* account.callbacks.keep?.(callback) ?? Effect.void
      if (hint.isAnswer === true) return "stored" as const
      const receivedAt = yield* Clock.currentTimeMillis
      const digest = createHash("sha256").update(callback.body).digest()
      const { mode, name } = account
      const id = callbackId({ provider: name, mode, digest })
      const received = { id, provider: name, mode, receivedAt, digest, hint }
      yield* unmatched.admit(received, find(received))
      const leasedUntil = receivedAt + leaseMs
      const body = maskedProviderCall(Buffer.from(callback.body).toString("utf8"), null).request
      const stored = yield* worker.submit((isTaken) =>
        Effect.flatMap(inbox.store(received, isTaken ? leasedUntil : receivedAt, body), (isNew) =>
          isNew ? Effect.as(rememberReceivingSpan(id), { ...received, leasedUntil, looks: 0, claims: 0 }) : Effect.succeed(null)
        )
      )
      const isNew = stored !== null
      yield* count(account, isNew ? "new" : "repeated")
      yield* Effect.annotateCurrentSpan({
        provider: name,
        mode,
        duplicate: !isNew,
        ...(isNew ? { callback_id: id } : {}),
        ...(hint.reference === null ? {} : { "gateway.reference": hint.reference })
      })
      return "stored" as const
    })

    const knows = (provider: string, routeKey: string) => Option.isSome(registry.byRouteKey(provider, routeKey))

    return { knows, receive, round: worker.round, run: worker.run }
  })
}

/** Whether a callback names a record of ours, even one that another account has now: such a callback is never closed as junk. */
export const namesOurs = ({ byProviderReference, byReference }: Lookups) =>
  Effect.fnUntraced(function* ({ hint, mode, provider }: Callback) {
    const byOurs = hint.reference === null ? Option.none() : yield* byReference(hint.reference)
    if (Option.isSome(byOurs) || hint.providerReference === null) return Option.isSome(byOurs)
    return (yield* byProviderReference(provider, mode, hint.providerReference)).length > 0
  })

type Lookups = Pick<Transactions["Service"], "byReference" | "byProviderReference">

/** A transaction that a callback may be about. `sharing`: how many there are, including this one. */
interface Named extends StoredTransaction {
  readonly sharing: number
}

/** The transaction that this attempt is about; none when the callback is not about ours. */
const transactionOf = (transactions: Lookups) =>
  Effect.fnUntraced(function* ({ hint, looks = 0, mode, provider }: Callback & { readonly looks?: number }) {
    const byOurs = hint.reference === null ? Option.none() : yield* transactions.byReference(hint.reference)
    // A reference of another provider or mode does not count: a callback speaks only for its own account.
    const own = ({ transaction }: StoredTransaction) => transaction.provider === provider && transaction.mode === mode
    if (Option.exists(byOurs, own) || hint.providerReference === null)
      return Option.map(Option.filter(byOurs, own), (stored): Named => ({ ...stored, sharing: 1 }))
    const named = (yield* transactions.byProviderReference(provider, mode, hint.providerReference)).filter(own)
    // A payout and a collection, or two accounts' transactions, may share a number: each attempt takes the next, newest first.
    const stored = named.toReversed()[looks % named.length]
    return Option.map(Option.fromUndefinedOr(stored), (one): Named => ({ ...one, sharing: named.length }))
  })

/** The same bytes of the same account have the same id. */
export const callbackId = ({ digest, mode, provider }: { provider: string; mode: Mode; digest: Uint8Array }): Reference =>
  referenceFrom(createHash("sha256").update(`${provider} ${mode} `).update(digest).digest())

const verify = (callbacks: Callbacks, callback: RawCallback): Effect.Effect<Option.Option<CallbackHint>> =>
  Effect.suspend(() => {
    const hint = callbacks.verify(callback)
    return Option.isSome(hint) || callbacks.refreshKeys === undefined
      ? Effect.succeed(hint)
      : Effect.map(callbacks.refreshKeys, () => callbacks.verify(callback))
  })

/**
 * The ages, in milliseconds, at which a callback that has changed nothing is processed again, provided that each attempt is
 * made on time and takes no time. The first ones are for callbacks that overtake the response to our own request. The schedule
 * counts attempts and the pauses between them, so a callback that was delayed for hours gets as many attempts. After the last
 * it is parked for an operator, while the poller continues by its own schedule.
 */
export const CALLBACK_RETRY_AGES_MS: ReadonlyArray<number> = [250, 1_000, 5_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000]

/**
 * The number of attempts for a callback that brings nothing new about a closed record and does not agree with it: it may have
 * overtaken the provider's own status query. After two minutes it is done.
 */
export const STALE_CALLBACK_LOOKS = 5

/** After the first attempt, the second, and so on. */
const PAUSES_MS = CALLBACK_RETRY_AGES_MS.map((age, at) => age - (CALLBACK_RETRY_AGES_MS[at - 1] ?? 0))
const LONGEST_PAUSE_MS = Math.max(...PAUSES_MS)

/**
 * The number of consecutive claims without a completed attempt after which a callback is parked, because it may be what crashes
 * the nodes that process it. That covers a quarter of an hour of crashes, one per lease, or hours without a database.
 */
export const CLAIMS_AT_MOST = 20

/** After an attempt that changed nothing. */
const afterVainLook = ({ looks }: Tries, now: Instant): NextLook => {
  const pause = PAUSES_MS[looks]
  return { looks: looks + 1, claims: 0, at: pause === undefined ? null : now + pause }
}

/** After an attempt with nothing new about a closed record; null after the last, and no operator has to look. */
const afterNothingNew = (tries: Tries, now: Instant): NextLook | null =>
  tries.looks < STALE_CALLBACK_LOOKS ? afterVainLook(tries, now) : null

/** After an attempt that could not be made, although its node lives: no request was sent, and it does not count. */
const afterNoLook = ({ claims, looks }: Tries, now: Instant): NextLook => ({
  looks,
  claims,
  at: now + (PAUSES_MS[claims] ?? LONGEST_PAUSE_MS)
})

/** After more claims than `CLAIMS_AT_MOST`. A replay resets the counts. */
const afterLastClaim = ({ looks }: Tries): NextLook => ({ looks, claims: 0, at: null })

/** How long, after a callback without a transaction, its account's callbacks are looked up before they are stored. */
const WATCHED_MS = 10 * 60_000

const refused = Metric.counter("gateway_callbacks_unmatched_refused_total", {
  description: "Callbacks that match no transaction and came oftener than their account's may.",
  incremental: true
})

/**
 * Keeps callbacks that match no transaction from filling the inbox. Each account has its own rate for them, and callbacks that
 * match are never counted: a flood affects neither other accounts nor the account's own genuine callbacks. While no such
 * callback arrives, none is looked up before it is stored. Each process watches for itself; the rate is shared by all nodes
 * when rate limits are shared.
 */
const makeUnmatchedCallbacks = Effect.gen(function* () {
  const { unmatchedCallbacks: limit } = yield* Policy
  const { take } = yield* RateLimits
  for (const provider of (yield* ProviderRegistry).known)
    for (const mode of Mode.literals) yield* Metric.update(Metric.withAttributes(refused, { provider, mode }), 0)
  /** By account, so its size is bounded by the configuration. */
  const watchedUntil = new Map<string, Instant>()

  /** Notes that a callback matched no transaction. */
  const note = Effect.fnUntraced(function* (callback: Callback) {
    watchedUntil.set(accountOf(callback), (yield* Clock.currentTimeMillis) + WATCHED_MS)
  })

  /** Refuses a callback that should not be stored. One whose lookup failed is stored: it may be about a record of ours. */
  const admit = Effect.fnUntraced(function* (callback: Callback, find: Effect.Effect<Option.Option<unknown>>) {
    const account = accountOf(callback)
    if (limit === "off" || callback.receivedAt >= (watchedUntil.get(account) ?? callback.receivedAt)) return
    const found = yield* Effect.exit(find)
    if (!Exit.isSuccess(found) || Option.isSome(found.value)) return
    const taken = yield* take(`unmatched_callbacks:${account}`, limit, 1)
    if (taken._tag === "Allowed") return
    const { mode, provider } = callback
    yield* Metric.update(Metric.withAttributes(refused, { provider, mode }), 1)
    return yield* new RateLimited({ scope: "server", retry_after_seconds: taken.retryAfterSeconds })
  })

  return { note, admit }
})

const accountOf = ({ mode, provider }: Pick<Callback, "provider" | "mode">): string => `${provider}:${mode}`
