import { Clock, Context, Effect, Option, Result } from "effect"
import { contradicts, type Reported } from "../../domain/CallbackReport.ts"
import type { CallTime } from "../../domain/CallTimes.ts"
import { leftToAPerson, sentToReview } from "../../domain/Contradiction.ts"
import { encodeEvent, tellingOf } from "../../domain/Event.ts"
import type { Actor, Fact } from "../../domain/Fact.ts"
import type { Reference } from "../../domain/Ids.ts"
import { decide } from "../../domain/Moves.ts"
import { momentAfter } from "../../domain/MoveTable.ts"
import { isTerminal } from "../../domain/Payment.ts"
import { isOverdue, nextPoll } from "../../domain/PollSchedule.ts"
import { countPoll, provenFact, type StatusPoll } from "../../domain/StatusPoll.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import { recordView } from "../../domain/View.ts"
import { takeCallTimes } from "../../runtime/CallTrail.ts"
import type { CapturedCall } from "../../runtime/CapturedCall.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { annotateTraced, inSpan } from "../../runtime/Tracing.ts"
import { type ApplyStep, FloatLedger } from "../ports/FloatLedger.ts"
import type { Claim } from "../ports/Idempotency.ts"
import { ResponseEncoder } from "../ports/Idempotency.ts"
import { Policy } from "../ports/Policy.ts"
import { RandomSource } from "../ports/RandomSource.ts"
import { type StoredTransaction, Transactions } from "../ports/Transactions.ts"
import { WebhookDispatcher } from "../webhooks/WebhookDispatcher.ts"
import { type FinalError, outcomeResponse, type UnknownOutcomeError } from "./OutcomeResponse.ts"
import { withItsRefunds } from "./ShownRecords.ts"

/** One fact about one transaction, who reports it, and what the request that called the provider adds. */
export interface News {
  readonly reference: Reference
  readonly fact: Fact
  readonly actor: Actor
  /** The request's key: its response is stored in the same commit when the fact closes the outcome. */
  readonly claim?: Claim | null
  /** The status of the stored response when the operation succeeded; 201 by default. */
  readonly successStatus?: number
  /** The request and response, when the fact is the answer to a money call. */
  readonly raw?: CapturedCall | null
  /** The record as the caller has just committed or read it, to save a read. When it has changed since, it is read again. */
  readonly lastKnown?: StoredTransaction | null
  /** More facts of the same answer follow in the next commit. If the process dies in between, a poll is due at once. */
  readonly moreFollows?: true
}

/** Including the calls to providers that produced it. */
interface WrittenNews extends News {
  readonly calls: ReadonlyArray<CallTime>
}

/** Where a fact comes from, which decides whether it still applies when it is written. */
interface NewsOrigin {
  /** The provider that reported it; null for a fact that is true whichever provider has the record. */
  readonly provider?: string
  /** The poll that it answers. */
  readonly poll?: StatusPoll
}

/** Each further decision means that another process changed the same record between our read and our commit. */
const DECISIONS_AT_MOST = 16
/** Every create answers 201. */
const CREATED = 201

/**
 * Writes what providers report. The request, the callback and the poller all pass their facts to this service, in any order and
 * any number of times. Only a person's resolution is written elsewhere, by `Review`, which has its own rules.
 *
 * Each call uses the table of moves (`domain/Moves`) to decide what the fact does to the stored record, and commits the next
 * record, the ledger entry, the history line, the event and the stored response together. When the record has changed before
 * the commit, nothing is written and the decision is made again. Nothing here fails: a transaction that does not exist, or that
 * never stops changing, is a defect.
 */
export class Settlement extends Context.Service<
  Settlement,
  {
    /**
     * Applies one fact in one commit, and returns the transaction after it. A fact that changes nothing adds only a line to the
     * history, so applying one twice is harmless.
     */
    readonly apply: (news: News) => Effect.Effect<Transaction>
    /** As `apply`, for a fact about one provider: once the record is at another provider, the fact is ignored. */
    readonly applyFromProvider: (provider: string, news: News) => Effect.Effect<Transaction>
    /**
     * As `applyFromProvider`, for the answer to a poll. The record at the time of writing decides what "not found" proves, and
     * a poll counts once, however often its answer is applied.
     */
    readonly applyAnswer: (poll: StatusPoll, answer: Pick<News, "reference" | "fact" | "lastKnown">) => Effect.Effect<Transaction>
  }
>()("gateway/services/Settlement") {
  static readonly layer = layerOf(Settlement)(function* () {
    const transactions = yield* Transactions
    const ledger = yield* FloatLedger
    const shown = withItsRefunds(transactions)
    const randomSource = yield* RandomSource
    const encoder = yield* ResponseEncoder
    const policy = yield* Policy
    const dispatcher = yield* WebhookDispatcher

    const stepOf = Effect.fnUntraced(function* (
      { revision, transaction }: StoredTransaction,
      { actor, calls, claim = null, fact, moreFollows, raw = null, successStatus = CREATED }: WrittenNews,
      poll: StatusPoll | null,
      isFull: boolean
    ) {
      const now = yield* Clock.currentTimeMillis
      const at = momentAfter(transaction, now)
      const decision = isFull ? leftToAPerson(transaction, fact, at) : decide(transaction, fact, actor, at)
      const decided = countPoll(transaction, decision.next, fact, poll)
      // In the same commit as the last poll, so that no open record is ever without a next poll or an operator.
      const overdue = isOverdue(decided, now)
      const next = overdue ? sentToReview(decided, at) : decided
      const type = tellingOf(transaction, next, decision.event)
      const contradicted = (poll?.said ?? []).filter((word) => contradicts(next, word))
      const event =
        type === null
          ? null
          : encodeEvent(
              {
                id: yield* randomSource.reference,
                appId: next.appId,
                mode: next.mode,
                type,
                reference: next.reference,
                at
              },
              // A collection has no refunds before it has ended.
              recordView(isTerminal(transaction) ? yield* shown(next) : next)
            )
      return {
        expectedRevision: revision,
        before: transaction,
        next,
        entry: decision.entry,
        line: {
          at,
          actor,
          fact: fact._tag,
          note: noteOf(fact, overdue, isFull, contradicted),
          status: next.status,
          ...(calls.length === 0 ? {} : { calls })
        },
        event,
        nextPollAt: moreFollows === true ? now : nextPoll(next, policy.pollSchedule, now, poll?.isListed),
        response: claim === null ? null : keptResponse(encoder, claim, outcomeResponse(next, fact), successStatus),
        savesBeneficiary: transaction.kind === "payout" && (fact._tag === "Accepted" || fact._tag === "Succeeded"),
        restoreLimits: transaction.kind === "payout" && transaction.status !== "failed" && next.status === "failed",
        wipeDestination: isTerminal(next),
        raw,
        ...(fact._tag === "Refused" && fact.kind === "pool" ? ({ walletTooSmall: true } as const) : {})
      } satisfies ApplyStep
    })

    const write = Effect.fnUntraced(function* (news: News, { provider, poll }: NewsOrigin) {
      const { actor, lastKnown = null, reference } = news
      yield* annotateTraced(() => ({
        "gateway.reference": reference,
        "gateway.fact": news.fact._tag,
        "gateway.actor": actor
      }))
      const calls = yield* takeCallTimes
      let isFull: boolean = false
      for (let decisions = 0; decisions < DECISIONS_AT_MOST; decisions++) {
        const known = decisions === 0 ? Option.fromNullishOr(lastKnown) : Option.none()
        const stored = Option.isSome(known) ? known : yield* transactions.byReference(reference)
        if (Option.isNone(stored)) return yield* Effect.die(new Error(`there is no transaction ${reference}`))
        if (provider !== undefined && stored.value.transaction.provider !== provider) {
          yield* Effect.logWarning("ignored a fact from a provider that no longer has the transaction").pipe(
            Effect.annotateLogs({ reference, provider, fact: news.fact._tag, actor })
          )
          return stored.value.transaction
        }
        const fact = poll === undefined ? news.fact : provenFact(stored.value.transaction, news.fact, poll)
        const step: ApplyStep = yield* stepOf(stored.value, { ...news, fact, calls }, poll ?? null, isFull)
        const result = yield* ledger.apply(step)
        isFull ||= result._tag === "FullFloat"
        if (result._tag !== "Applied") continue
        if (step.event !== null) yield* dispatcher.nudge
        const drift = step.entry?.postings.find(({ account }) => account === "drift")
        if (drift !== undefined) {
          yield* Effect.logWarning("the provider took more than the fee that was held: the gateway bears the drift").pipe(
            Effect.annotateLogs({ reference, drift_minor: drift.amount.toString(), currency: drift.currency })
          )
        }
        yield* Effect.logInfo("applied a fact").pipe(
          Effect.annotateLogs({
            reference,
            fact: fact._tag,
            actor,
            transaction_status: step.next.status,
            moved: step.entry !== null
          })
        )
        return step.next
      }
      return yield* Effect.die(new Error(`the transaction ${reference} kept moving`))
    }, inSpan("Settlement.apply"))

    return {
      apply: (news) => write(news, {}),
      applyFromProvider: (provider, news) => write(news, { provider }),
      applyAnswer: (poll, answer) => write({ ...answer, actor: poll.actor }, { provider: poll.provider, poll })
    }
  })
}

/** The provider's words, the figures that an operator compares, and callbacks that contradict them. */
const noteOf = (fact: Fact, overdue: boolean, isFull: boolean, contradicted: ReadonlyArray<Reported>): string => {
  const sums =
    fact._tag === "Succeeded"
      ? [`amount ${fact.amount ?? "unsaid"} ${fact.currency ?? ""}`.trim(), `fee ${fact.fee ?? "unsaid"}`]
      : []
  const full = isFull ? ["not booked: the float cannot hold that much"] : []
  const callbacks = contradicted.map((word) => `an authenticated callback says ${word}`)
  const notes = [fact.note, ...sums, ...full, ...callbacks]
  return [...notes, ...(overdue ? ["polled to the end of the schedule: a person has to look"] : [])]
    .filter((part) => part !== "")
    .join("; ")
}

/** The response to store for the claim with the commit; null while the outcome is open, because nothing may be stored then. */
const keptResponse = (
  encoder: ResponseEncoder["Service"],
  claim: Claim,
  outcome: ReturnType<typeof outcomeResponse>,
  successStatus: number
): ApplyStep["response"] =>
  Result.match(outcome, {
    onSuccess: (transaction) => ({ claim, response: encoder.success(successStatus, transaction) }),
    onFailure: (error) => (isFinal(error) ? { claim, response: encoder.error(error) } : null)
  })

const isFinal = (error: FinalError | UnknownOutcomeError): error is FinalError =>
  error._tag === "payout_rejected_by_provider" ||
  error._tag === "charge_rejected_by_provider" ||
  error._tag === "insufficient_wallet_float" ||
  error._tag === "otp_incorrect"
