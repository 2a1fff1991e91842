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

/** Callbacks looked into at once. */
const SLOTS = 32
/** How often waiting callbacks are looked for when none comes in. */
const IDLE_MS = 1_000
/** A callback that has waited so long for the poll under way is looked into later: its lease is that of one poll, and has a margin of twice as much. */
const TURN_WITHIN_MS = 5_000
/** Callbacks of which it is remembered where they came in; beyond that the oldest are forgotten. */
const RECEIVING_SPANS_KEPT = 1_000

const byPathBefore = Metric.counter("gateway_callbacks_by_path_before_total", {
  description: "Callbacks that came to a path which has a newer one: the new one still has to be registered at the provider.",
  incremental: true
})

/** Takes callbacks of providers. They are never believed: each is a reason to poll the provider about one transaction. */
export class ProviderCallbacks extends Context.Service<
  ProviderCallbacks,
  {
    /** Whether a callback path is one of ours; nothing is stored. It takes the same time whatever the key is. */
    readonly knows: (provider: string, routeKey: string) => boolean
    /** Stored, durably, before it is answered; the same bytes again are stored already. Too many that match nothing are refused. */
    readonly receive: (
      provider: string,
      routeKey: string,
      callback: RawCallback
    ) => Effect.Effect<"stored", NotFound | Unauthorized | RateLimited>
    /** Looks into every callback that waits, and answers how many. */
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

    /**
     * The spans in which callbacks came in here, until they are first processed. A callback that another node processes has no such link.
     */
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

    /** In the trace of the transaction that it leads to, linked to the request that brought it. */
    const look = Effect.fnUntraced(function* (callback: LeasedCallback) {
      const receiving = receivingSpans.get(callback.id) ?? null
      receivingSpans.delete(callback.id)
      // One that is to be parked is not looked for: that may be what never came to an end.
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
        // Where several records share the handle, the callback's report counts for none of them.
        const says = found.sharing === 1 ? said : null
        const polled = Option.getOrUndefined(yield* poll(found, callback, says))
        if (polled?.turnedAway === true)
          return yield* inbox.retryAt(callback, afterNoLook(callback, yield* Clock.currentTimeMillis))
        if (polled === undefined || !polled.learnt) return yield* lookAgain(callback, "nothing was learnt")
        const { record } = polled
        const hasMoved = record.version !== found.transaction.version
        if (!hasMoved && callback.looks < found.sharing - 1) return yield* lookAgain(callback, "others have the same reference")
        // Once a person has the record, what the callback says is among what that person reads: where it is known who said it.
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

    /** A callback without authentication is left out of the history: any client that knows the address can send one. */
    const isAuthenticated = ({ mode, provider }: Callback) =>
      Option.exists(registry.find(provider, mode), ({ guarantees }) => guarantees.callbackAuth !== "none")

    const shared = makeSharedPolls<Polled>(TURN_WITHIN_MS)

    // A poll that broke has no result, and the callback must be parked in the end all the same.
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

    // Its request's span says what it brought.
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
      // Before its record is asked about: the answer may rest on it.
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

/** Whether a callback names a record of ours, also one that another account has by now: such a callback is never closed as junk. */
export const namesOurs = ({ byProviderReference, byReference }: Lookups) =>
  Effect.fnUntraced(function* ({ hint, mode, provider }: Callback) {
    const byOurs = hint.reference === null ? Option.none() : yield* byReference(hint.reference)
    if (Option.isSome(byOurs) || hint.providerReference === null) return Option.isSome(byOurs)
    return (yield* byProviderReference(provider, mode, hint.providerReference)).length > 0
  })

type Lookups = Pick<Transactions["Service"], "byReference" | "byProviderReference">

/** A transaction that a callback may be about; `sharing`: how many there are, itself among them. */
interface Named extends StoredTransaction {
  readonly sharing: number
}

/** The transaction that this look into a callback is about; none where it is about nothing of ours. */
const transactionOf = (transactions: Lookups) =>
  Effect.fnUntraced(function* ({ hint, looks = 0, mode, provider }: Callback & { readonly looks?: number }) {
    const byOurs = hint.reference === null ? Option.none() : yield* transactions.byReference(hint.reference)
    // A reference of another provider or mode does not count: a callback speaks for its own account only.
    const own = ({ transaction }: StoredTransaction) => transaction.provider === provider && transaction.mode === mode
    if (Option.exists(byOurs, own) || hint.providerReference === null)
      return Option.map(Option.filter(byOurs, own), (stored): Named => ({ ...stored, sharing: 1 }))
    const named = (yield* transactions.byProviderReference(provider, mode, hint.providerReference)).filter(own)
    // A payout and a collection, or those of two accounts, may have one number: each look takes the next, the newest first.
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
 * Ages, in milliseconds, at which a callback that moved nothing so far is processed again, where each look is made when it is due and takes
 * no time: the first ones are for callbacks that overtake the answer to our own request. The schedule counts the looks that were made and
 * the pauses between them: a callback that lay for hours gets as many. Past the last it is parked for a person, and the poller goes on by
 * its schedule.
 */
export const CALLBACK_RETRY_AGES_MS: ReadonlyArray<number> = [250, 1_000, 5_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000]

/**
 * So many of these are for a callback that brought nothing new about a closed record, and does not say what the record says: it may have overtaken the
 * provider's own status query. After two minutes it is done.
 */
export const STALE_CALLBACK_LOOKS = 5

/** After the first look, the second, and so on. */
const PAUSES_MS = CALLBACK_RETRY_AGES_MS.map((age, at) => age - (CALLBACK_RETRY_AGES_MS[at - 1] ?? 0))
const LONGEST_PAUSE_MS = Math.max(...PAUSES_MS)

/**
 * Claims in a row of which no look ended: after these a callback is parked unseen, because it may be what ends the nodes that look into it. As many as
 * last for a quarter of an hour of crashes, one a lease, or for hours in which the database cannot say whose it is.
 */
export const CLAIMS_AT_MOST = 20

/** After an attempt that moved nothing. */
const afterVainLook = ({ looks }: Tries, now: Instant): NextLook => {
  const pause = PAUSES_MS[looks]
  return { looks: looks + 1, claims: 0, at: pause === undefined ? null : now + pause }
}

/** After a look that brought nothing new about a closed record; null where that is the end, and no person has to look. */
const afterNothingNew = (tries: Tries, now: Instant): NextLook | null =>
  tries.looks < STALE_CALLBACK_LOOKS ? afterVainLook(tries, now) : null

/** After a look that could not be made, although its node lives: no request was sent, and the look does not count. */
const afterNoLook = ({ claims, looks }: Tries, now: Instant): NextLook => ({
  looks,
  claims,
  at: now + (PAUSES_MS[claims] ?? LONGEST_PAUSE_MS)
})

/** After more claims than that. A replay begins at none. */
const afterLastClaim = ({ looks }: Tries): NextLook => ({ looks, claims: 0, at: null })

/** After a callback that matched nothing, those of its account are looked up before they are stored for so long. */
const WATCHED_MS = 10 * 60_000

const refused = Metric.counter("gateway_callbacks_unmatched_refused_total", {
  description: "Callbacks that match no transaction and came oftener than their account's may.",
  incremental: true
})

/**
 * Keeps what matches no transaction from filling the inbox. Each account has a rate of its own for it, and what does match is never counted: a
 * flood costs neither the neighbours' callbacks nor the account's own genuine ones. While nothing of the kind comes, no callback is looked up before it is
 * stored. Each process watches for itself; the rate is all nodes' where rate limits are shared.
 */
const makeUnmatchedCallbacks = Effect.gen(function* () {
  const { unmatchedCallbacks: limit } = yield* Policy
  const { take } = yield* RateLimits
  for (const provider of (yield* ProviderRegistry).known)
    for (const mode of Mode.literals) yield* Metric.update(Metric.withAttributes(refused, { provider, mode }), 0)
  /** By account. There are no more than are configured. */
  const watchedUntil = new Map<string, Instant>()

  /** A look has found nothing that it could be about. */
  const note = Effect.fnUntraced(function* (callback: Callback) {
    watchedUntil.set(accountOf(callback), (yield* Clock.currentTimeMillis) + WATCHED_MS)
  })

  /** Refuses a callback that should not be stored. One whose look-up failed is stored: it may be about a record of ours. */
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
