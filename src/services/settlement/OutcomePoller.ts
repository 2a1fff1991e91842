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

/** Transactions polled at once. */
const SLOTS = 16
/** How often due transactions are looked for. */
const IDLE_MS = 250

const withoutAccount = Metric.counter("gateway_polls_without_account_total", {
  description: "Polls for which nobody could be asked, because the account that the transaction was sent with is not set.",
  incremental: true
})

export interface Polled {
  /** Whether the provider answered anything that can be believed. */
  readonly learnt: boolean
  /** No request was sent: the pace of the account, or its provider, turned the poll away. */
  readonly turnedAway?: true
  /** The provider answered that it has nothing by our reference. */
  readonly isAbsent?: true
  /** The record as it is by now. */
  readonly record: Transaction
}

/** Polls providers about transactions whose outcome is open, and about closed ones that can still change. */
export class OutcomePoller extends Context.Service<
  OutcomePoller,
  {
    /**
     * Polls the provider about one transaction now and applies what it says. `actor` is why it is polled: only the schedule's own polls
     * ("reconciler", as rows call the poller) count towards "never sent". `said` is what authenticated callbacks say, for the history.
     */
    readonly poll: (stored: StoredTransaction, actor: Actor, said?: ReadonlyArray<Reported>) => Effect.Effect<Polled>
    /** Polls for what is due, at most as many as are polled at once; answers how many. */
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
    // A counter that is not there yet grows from nothing, which no alert sees.
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
        // However busy the account is: after a day a person has it.
        const hasTime = !isOverdue(transaction, statusPoll.polledAt)
        const record = hasTime ? transaction : yield* unanswered("the question was turned away")
        return { learnt: false, turnedAway: true, record }
      }
      const answer = poll.value
      if (answer._tag === "StillPending" || answer._tag === "Succeeded") yield* doubtWrongCode(transaction)
      const known = answer._tag === "Returned" ? yield* beforeReturn(provider.value, stored, answer, actor) : stored
      const applied = yield* settlement.applyAnswer(statusPoll, { reference, fact: answer, lastKnown: known })
      // A dispute changes no status: its callback, which says nothing of the whole charge, leads to the provider's list of them.
      const isNews = known !== null && isTerminal(transaction) && !said.includes("successful")
      const mayBeAsked = isNews && (actor === "callback" || actor === "operator")
      const record =
        mayBeAsked && applied.kind === "collection" ? yield* clawbacks.ofCharge(provider.value, applied, actor) : applied
      // A callback hinted at news of a closed record, and the provider does not show it yet: nothing was learnt.
      const isStale = answer._tag === "StillPending" && isTerminal(transaction)
      if (answer._tag === "NotFound") return { learnt: false, isAbsent: true, record }
      return { learnt: answer._tag !== "Unknown" && !isStale, record }
    })

    /** Applies what comes before the return itself. Null where the record may not be the given one any more. */
    const beforeReturn = Effect.fnUntraced(function* (
      provider: Provider,
      stored: StoredTransaction,
      answer: Extract<StatusOutcome, { _tag: "Returned" }>,
      actor: Actor
    ) {
      const { kind, provider: name, reference, status } = stored.transaction
      // Only a delivered payout can come back. Where the delivery was never reported, it is applied before the return.
      if (kind === "payout" && status === "pending") {
        const fact = deliveredBefore(stored.transaction, answer)
        yield* settlement.applyFromProvider(name, { reference, fact, actor, lastKnown: stored, moreFollows: true })
        return null
      }
      // A charge says that it was reversed where a part was refunded, too: what is listed of it comes first, so that it is one case.
      if (kind !== "collection" || !isTerminal(stored.transaction)) return stored
      yield* clawbacks.ofCharge(provider, stored.transaction, actor)
      return null
    })

    /**
     * None where the poll was turned away, or others wait before it: no request was sent, and the poll is neither counted nor recorded.
     */
    const ask = Effect.fnUntraced(function* (provider: Adapter, record: Transaction, statusPoll: StatusPoll) {
      const { actor } = statusPoll
      const behind = actor === "reconciler" ? yield* lines.behind(record) : null
      if (behind !== null) {
        yield* transactions.putBack(record, behind)
        return Option.none()
      }
      const isOver = !isTerminal(record) && isWindowOver(record, statusPoll)
      // A person waits for the answer. A request whose question is turned away is answered by the record as it is: many would queue before payments.
      const { away, exit } = yield* withTurn(pollProvider(provider, record, isOver), actor === "operator")
      const answer = yield* exit
      if (away === null || answer._tag !== "Unknown") return Option.some(answer)
      if (actor === "reconciler") yield* transactions.putBack(record, yield* lines.join(record, away))
      return Option.none()
    })

    /**
     * A charge whose payer did not say the code in time. From here on no code can be sent for it. Some: what `poll` answers without asking
     * the provider. None: it is to be polled like any other.
     */
    const endUnansweredCode = Effect.fnUntraced(function* (record: Transaction, actor: Actor) {
      const now = yield* Clock.currentTimeMillis
      if (record.kind !== "collection" || !waitsForCode(record) || now < (record.expiresAt ?? now)) return Option.none()
      const { reference } = record
      const standing = yield* codes.close(reference, now)
      // A request is just sending a code, and brings the answer itself. If it dies, the next poll finds the code unheard.
      if (standing === "leased") return Option.some({ learnt: false, record })
      // One was called wrong, which its provider may still contradict: it ends by the provider's answer.
      if (standing === "wrong") return Option.none()
      // No code was ever sent: nothing was charged.
      if (standing === "free") {
        const fact = { _tag: "Expired", note: "the code expired and nothing was charged" } as const
        return Option.some({ learnt: true, record: yield* settlement.apply({ reference, fact, actor }) })
      }
      // A code was sent and its answer was lost: a charge may have been placed. The next polls ask for it as for every other.
      const note = "the answer to a code was lost"
      const fact = { _tag: "Charged", expiresAt: now + policy.collectionExpiryMs, note } as const
      return Option.some({ learnt: false, record: yield* settlement.apply({ reference, fact, actor }) })
    })

    /**
     * A charge that was found. Where its code was called wrong, and no other one is on its way, none can be sent from here on, and an operator has
     * to know: another charge of the payer may have been placed beside it.
     */
    const doubtWrongCode = Effect.fnUntraced(function* (record: Transaction) {
      if (record.kind !== "collection" || record.wrongCode !== true || !waitsForCode(record)) return
      const { provider, reference } = record
      if ((yield* codes.close(reference, yield* Clock.currentTimeMillis)) !== "wrong") return
      const line = Effect.logError("a provider made a charge although it called its code wrong")
      yield* Effect.annotateLogs(line, { reference, provider })
    })

    const claim = Effect.fnUntraced(function* (free: number) {
      // It outlives the calls that one poll may need; a node that dies holds nothing longer than this.
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

/** The proof that "not found" can give. A provider that is not there guarantees nothing. */
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

/** Why the outcome of a record cannot be known, shown to the operator as well: another account's "not found" would prove nothing. */
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

/** A poll that was turned away is repeated within this time after the account takes calls again, however many wait before it. */
const LONGEST_LINE_MS = 30_000

/** References of those that wait; the first to come is forgotten beyond these, and so waits once more. */
const REMEMBERED = 10_000

/**
 * The times of polls that were turned away: soon, one after another at the pace of their account, so that the oldest goes first and polls
 * of other providers are reached meanwhile. A later poll goes behind those that wait. A line belongs to this process; other nodes have
 * their own, hence the jitter.
 */
const makePollLines = () => {
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
    /** When one comes again that comes while others wait; null where it is its turn. */
    behind: Effect.fnUntraced(function* (record: Transaction) {
      const line = lines.get(lineOf(record))
      const isTurn = waiting.delete(record.reference) || line === undefined || line.end <= (yield* Clock.currentTimeMillis)
      return isTurn ? null : yield* join(record, { intervalMs: line.intervalMs, retryAfterMs: 0 })
    })
  }
}
