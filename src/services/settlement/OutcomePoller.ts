import { Clock, Context, Effect, Metric, Option, Random } from "effect"
import type { Reported } from "../../domain/CallbackReport.ts"
import { waitsForCode } from "../../domain/CollectionMoves.ts"
import type { Actor, Fact } from "../../domain/Fact.ts"
import { Mode } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import { isTerminal } from "../../domain/Payment.ts"
import { isOverdue } from "../../domain/PollSchedule.ts"
import { isWindowOver, type StatusPoll } from "../../domain/StatusPoll.ts"
import { pollLeaseMs } from "../../domain/TimeLimits.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import { CallTrail } from "../../runtime/CallTrail.ts"
import { type TurnedAway, withTurn } from "../../runtime/CallTurn.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { inTraceOf } from "../../runtime/Tracing.ts"
import { makeWorker } from "../../runtime/Worker.ts"
import { ClockTrust } from "../ports/ClockWatch.ts"
import { Codes } from "../ports/Codes.ts"
import { Policy } from "../ports/Policy.ts"
import type { Adapter, Provider, ProviderGuarantees, StatusOutcome } from "../ports/Provider.ts"
import { ProviderRegistry, sentWith } from "../ports/ProviderRegistry.ts"
import { type StoredTransaction, Transactions } from "../ports/Transactions.ts"
import { Clawbacks, showsInStatement } from "./Clawbacks.ts"
import { pollProvider } from "./ProviderQuestion.ts"
import { Settlement } from "./Settlement.ts"

/** How many transactions are polled at once. */
const SLOTS = 16
/** How often due transactions are claimed. */
const IDLE_MS = 250

const withoutAccount = Metric.counter("gateway_polls_without_account_total", {
  description: "Polls for which nobody could be asked, because the account that the transaction was sent with is not set.",
  incremental: true
})

export interface Polled {
  /** Whether the provider gave an answer that can be trusted. */
  readonly learnt: boolean
  /** No request was sent, or the provider rejected it, because of the pace. */
  readonly turnedAway?: true
  /** The provider answered that it has nothing by our reference. */
  readonly isAbsent?: true
  /** The record after the poll. */
  readonly record: Transaction
}

/** Polls providers about transactions whose outcome is open, and about closed ones that can still change. */
export class OutcomePoller extends Context.Service<
  OutcomePoller,
  {
    /**
     * Polls the provider about one transaction now, and applies the answer. `actor`: why it is polled. Only scheduled polls
     * ("reconciler", as stored rows call the poller) count towards "never sent". `said`: what authenticated callbacks reported,
     * for the history.
     */
    readonly poll: (stored: StoredTransaction, actor: Actor, said?: ReadonlyArray<Reported>) => Effect.Effect<Polled>
    /** Polls due transactions, at most as many as are polled at once, and returns how many. */
    readonly round: Effect.Effect<number>
    readonly run: Effect.Effect<never>
  }
>()("gateway/services/OutcomePoller") {
  static readonly layer = layerOf(OutcomePoller)(function* () {
    const transactions = yield* Transactions
    const registry = yield* ProviderRegistry
    const settlement = yield* Settlement
    const policy = yield* Policy
    const codes = yield* Codes
    const clawbacks = yield* Clawbacks
    const lines = makePollLines()
    // Starts the counter at zero, because an alert does not notice the first increase of a counter that did not exist.
    for (const provider of registry.known)
      for (const mode of Mode.literals) yield* Metric.update(Metric.withAttributes(withoutAccount, { provider, mode }), 0)

    const poll = (stored: StoredTransaction, actor: Actor, said: ReadonlyArray<Reported> = []): Effect.Effect<Polled> =>
      inTraceOf(
        "OutcomePoller.poll",
        stored.traceparent
      )(Effect.suspend(() => Effect.provideService(pollOnce(stored, actor, said), CallTrail, [])))

    const pollOnce = Effect.fnUntraced(function* (
      stored: StoredTransaction,
      actor: Actor,
      said: ReadonlyArray<Reported>
    ): Effect.fn.Return<Polled> {
      const { transaction } = stored
      const { appId, mode, reference } = transaction
      yield* Effect.annotateCurrentSpan({
        "gateway.reference": reference,
        "gateway.app_id": appId,
        "gateway.mode": mode,
        "gateway.actor": actor
      })
      const provider = sentWith(registry, transaction)
      const statusPoll = yield* statusPollOf(provider, policy, { record: transaction, actor, said })
      const unanswered = (note: string) =>
        settlement.applyAnswer(statusPoll, {
          reference,
          fact: { _tag: "Unknown", reason: "unavailable", note },
          lastKnown: stored
        })
      if (Option.isNone(provider))
        return { learnt: false, record: yield* unanswered(yield* tellNobodyToAsk(registry, transaction)) }
      const endedWithoutPoll = yield* endUnansweredCode(transaction, actor)
      if (Option.isSome(endedWithoutPoll)) return endedWithoutPoll.value
      const poll = yield* ask(provider.value, transaction, statusPoll)
      if (Option.isNone(poll)) {
        // However busy the account is, after a day an operator gets the transaction.
        const hasTime = !isOverdue(transaction, statusPoll.polledAt)
        const record = hasTime ? transaction : yield* unanswered("the question was turned away")
        return { learnt: false, turnedAway: true, record }
      }
      const answer = poll.value
      if (answer._tag === "StillPending" || answer._tag === "Succeeded") yield* doubtWrongCode(transaction)
      const known = answer._tag === "Returned" ? yield* beforeReturn(provider.value, stored, answer, actor) : stored
      const applied = yield* settlement.applyAnswer(statusPoll, { reference, fact: answer, lastKnown: known })
      // A dispute changes no status, and its callback lacks the whole charge's state: it leads to the list of disputes.
      const isNews = known !== null && isTerminal(transaction) && !said.includes("successful")
      const mayBeAsked = isNews && (actor === "callback" || actor === "operator")
      const record =
        mayBeAsked && applied.kind === "collection" ? yield* clawbacks.ofCharge(provider.value, applied, actor) : applied
      // A callback hinted at a change of a closed record that the provider does not show yet: nothing was learnt.
      const isStale = answer._tag === "StillPending" && isTerminal(transaction)
      if (answer._tag === "NotFound") return { learnt: false, isAbsent: true, record }
      return { learnt: answer._tag !== "Unknown" && !isStale, record }
    })

    /** Applies what must come before the return itself. Null when the record may have changed. */
    const beforeReturn = Effect.fnUntraced(function* (
      provider: Provider,
      stored: StoredTransaction,
      answer: Extract<StatusOutcome, { _tag: "Returned" }>,
      actor: Actor
    ) {
      const { kind, provider: name, reference, status } = stored.transaction
      // Only a delivered payout can be returned. If the delivery was never reported, it is applied first.
      if (kind === "payout" && status === "pending") {
        const fact = deliveredBefore(stored.transaction, answer)
        yield* settlement.applyFromProvider(name, { reference, fact, actor, lastKnown: stored, moreFollows: true })
        return null
      }
      // A partly refunded charge is reported as reversed: its listed clawbacks are applied first, so that there is one case.
      if (kind !== "collection" || !isTerminal(stored.transaction)) return stored
      yield* clawbacks.ofCharge(provider, stored.transaction, actor)
      return null
    })

    /** None when the pace rejected the poll, or others wait: no request was sent, and no poll is counted or recorded. */
    const ask = Effect.fnUntraced(function* (provider: Adapter, record: Transaction, statusPoll: StatusPoll) {
      const { actor } = statusPoll
      const behind = actor === "reconciler" ? yield* lines.behind(record) : null
      if (behind !== null) {
        yield* transactions.putBack(record, behind)
        return Option.none()
      }
      const isOver = !isTerminal(record) && isWindowOver(record, statusPoll)
      // Only an operator waits for the pace. A request is answered from the record: many would queue in front of payments.
      const { away, exit } = yield* withTurn(pollProvider(provider, record, isOver), actor === "operator")
      const answer = yield* exit
      if (away === null || answer._tag !== "Unknown") return Option.some(answer)
      if (actor === "reconciler") yield* transactions.putBack(record, yield* lines.join(record, away))
      return Option.none()
    })

    /**
     * Handles a charge whose payer did not enter the code in time. From here on no code can be submitted for it. Some: the
     * result of `poll`, without a call to the provider. None: poll it like any other.
     */
    const endUnansweredCode = Effect.fnUntraced(function* (record: Transaction, actor: Actor) {
      const now = yield* Clock.currentTimeMillis
      if (record.kind !== "collection" || !waitsForCode(record) || now < (record.expiresAt ?? now)) return Option.none()
      const { reference } = record
      const standing = yield* codes.close(reference, now)
      // A request is submitting a code and will apply the answer itself. If it dies, the next poll finds the code `unheard`.
      if (standing === "leased") return Option.some({ learnt: false, record })
      // A code was rejected as wrong, which the provider may still contradict, so the provider is polled.
      if (standing === "wrong") return Option.none()
      // No code was ever submitted: nothing was charged.
      if (standing === "free") {
        const fact = { _tag: "Expired", note: "the code expired and nothing was charged" } as const
        return Option.some({ learnt: true, record: yield* settlement.apply({ reference, fact, actor }) })
      }
      // A code was submitted and its answer was lost: a charge may have been placed. From now on it is polled like any other.
      const note = "the answer to a code was lost"
      const fact = { _tag: "Charged", expiresAt: now + policy.collectionExpiryMs, note } as const
      return Option.some({ learnt: false, record: yield* settlement.apply({ reference, fact, actor }) })
    })

    /**
     * The provider has the charge. If its code was rejected as wrong and none is being submitted, no further code can be
     * submitted, and the operator is alerted: another charge of the payer may have been placed as well.
     */
    const doubtWrongCode = Effect.fnUntraced(function* (record: Transaction) {
      if (record.kind !== "collection" || record.wrongCode !== true || !waitsForCode(record)) return
      const { provider, reference } = record
      if ((yield* codes.close(reference, yield* Clock.currentTimeMillis)) !== "wrong") return
      const line = Effect.logError("a provider made a charge although it called its code wrong")
      yield* Effect.annotateLogs(line, { reference, provider })
    })

    const claim = Effect.fnUntraced(function* (free: number) {
      // Outlasts the calls of one poll; a node that dies blocks the transactions no longer than this.
      const lease = pollLeaseMs(policy.providerTimeoutMs)
      return yield* transactions.claimDue(yield* Clock.currentTimeMillis, free, lease)
    })

    const work = (stored: StoredTransaction) =>
      Effect.asVoid(poll(stored, "reconciler")).pipe(Effect.annotateLogs({ reference: stored.transaction.reference }))

    const worker = yield* makeWorker({ name: "OutcomePoller", slots: SLOTS, idleMs: IDLE_MS, claim, work })

    return { poll, round: worker.round, run: worker.run }
  })
}

const statusPollOf = Effect.fnUntraced(function* (
  provider: Option.Option<Adapter>,
  policy: Policy["Service"],
  { actor, record, said }: Pick<StatusPoll, "actor" | "said"> & { readonly record: Transaction }
) {
  const { begunAt, leaps } = yield* ClockTrust
  return {
    ...proofOf(record.kind, Option.getOrNull(Option.map(provider, ({ guarantees }) => guarantees)), policy),
    provider: record.provider,
    actor,
    polledAt: yield* Clock.currentTimeMillis,
    leaps: yield* leaps,
    begunAt,
    pollCount: record.asked,
    version: record.version,
    isListed: Option.exists(provider, showsInStatement),
    ...(said && { said })
  }
})

/** The proof that "not found" can give. A provider that is not registered guarantees nothing. */
const proofOf = (
  kind: Transaction["kind"],
  guarantees: ProviderGuarantees | null,
  { notFoundCount, notFoundGraceMs }: Pick<Policy["Service"], "notFoundCount" | "notFoundGraceMs">
): Pick<StatusPoll, "isDocumented" | "isUnaskable" | "graceMs" | "notFoundAtLeast"> => {
  const isUnaskable = kind === "collection" && guarantees?.chargeLookup !== undefined
  return {
    isDocumented: guarantees?.lookup === "by_client_ref" && !isUnaskable,
    ...(isUnaskable ? { isUnaskable } : {}),
    graceMs: Math.max(
      notFoundGraceMs,
      (kind === "collection" ? guarantees?.chargeNotFoundGraceMs : null) ?? guarantees?.notFoundGraceMs ?? 0
    ),
    notFoundAtLeast: notFoundCount
  }
}

/** Logs why the outcome of a record cannot be known: another account's "not found" would prove nothing. */
const tellNobodyToAsk = Effect.fnUntraced(function* (registry: ProviderRegistry["Service"], record: Transaction) {
  const { currency, mode, provider, reference } = record
  const accounts = registry.accounts(provider, mode)
  if (accounts.length === 0) {
    const unregistered = Effect.logError("an open transaction belongs to a provider that is not registered")
    yield* Effect.annotateLogs(unregistered, { reference })
    return "the provider is not registered"
  }
  yield* Metric.update(Metric.withAttributes(withoutAccount, { provider, mode }), 1)
  const sent = record.account ?? registry.claimed(provider, mode).join(" or ")
  const set = accounts.flatMap(({ fingerprints }) => fingerprints(currency)).join(" and ")
  const elsewhere = Effect.logError(
    "an open transaction was sent with an account that is not set: nobody can ask what became of it"
  )
  yield* Effect.annotateLogs(elsewhere, { reference, provider, mode, account_sent_with: sent, accounts_set: set })
  return `it was sent with the account ${sent}, and those that are set are ${set}: what another account says proves nothing`
})

const deliveredBefore = (
  { providerReference }: Transaction,
  { amount, charged, currency, note }: Extract<StatusOutcome, { _tag: "Returned" }>
): Fact => ({
  _tag: "Succeeded",
  providerReference,
  amount,
  currency,
  fee: charged,
  note
})

/** A rejected poll is retried within this time after the account accepts calls again, however many wait before it. */
const LONGEST_LINE_MS = 30_000

/** How many waiting references are remembered. When there are more, the oldest is forgotten and queues once more. */
const REMEMBERED = 10_000

/**
 * Schedules polls that the pace rejected: soon, one after another at their account's pace, so that the oldest goes first and
 * polls of other providers are not held up. A later poll goes behind those that wait. Each process has its own line; the jitter
 * spreads the polls of several nodes.
 */
export const makePollLines = () => {
  const lines = new Map<string, { end: Instant; intervalMs: number }>()
  const waiting = new Set<string>()
  const lineOf = ({ account = "", currency, mode, provider }: Transaction) => `${provider} ${mode} ${account} ${currency}`

  const join = Effect.fnUntraced(function* (record: Transaction, { intervalMs, retryAfterMs }: TurnedAway) {
    const earliest = (yield* Clock.currentTimeMillis) + retryAfterMs
    const jitter = (yield* Random.next) * intervalMs
    const at = Math.min(Math.max(lines.get(lineOf(record))?.end ?? 0, earliest), earliest + LONGEST_LINE_MS)
    lines.set(lineOf(record), { end: at + intervalMs, intervalMs })
    waiting.add(record.reference)
    const [oldest] = waiting
    if (oldest !== undefined && waiting.size > REMEMBERED) waiting.delete(oldest)
    return Math.round(at + jitter)
  })

  return {
    join,
    /** When to retry a poll that arrives while others wait; null when it is its turn. */
    behind: Effect.fnUntraced(function* (record: Transaction) {
      const line = lines.get(lineOf(record))
      const isTurn = waiting.delete(record.reference) || line === undefined || line.end <= (yield* Clock.currentTimeMillis)
      return isTurn ? null : yield* join(record, { intervalMs: line.intervalMs, retryAfterMs: 0 })
    })
  }
}
