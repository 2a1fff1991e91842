import { Clock, Context, Effect, Layer, Option, Result } from "effect"
import { toBeReviewed } from "../../domain/Contradiction.ts"
import type { Decision } from "../../domain/Decision.ts"
import { freeze } from "../../domain/Event.ts"
import type { LedgerRecord } from "../../domain/Exchange.ts"
import { decideExchange } from "../../domain/ExchangeMoves.ts"
import type { Actor, Fact } from "../../domain/Fact.ts"
import type { Reference } from "../../domain/Ids.ts"
import { decide } from "../../domain/Moves.ts"
import { isOverdue, nextPoll } from "../../domain/PollSchedule.ts"
import { believed, counted, type Question } from "../../domain/Question.ts"
import { isTerminal } from "../../domain/Transaction.ts"
import { recordView } from "../../domain/View.ts"
import type { RawExchange } from "../../runtime/ProviderTrail.ts"
import { inSpan } from "../../runtime/TraceLinks.ts"
import { AnswerEncoder } from "../ports/AnswerEncoder.ts"
import { type ApplyStep, FloatLedger } from "../ports/FloatLedger.ts"
import type { Claim, StoredAnswer } from "../ports/Idempotency.ts"
import { Identifiers } from "../ports/Identifiers.ts"
import { Policy } from "../ports/Policy.ts"
import { type StoredTransaction, Transactions } from "../ports/Transactions.ts"
import { WebhookDispatcher } from "../webhooks/WebhookDispatcher.ts"
import { answerTo, type FinalRefusal, type OpenRefusal } from "./OutcomeAnswer.ts"

/** Who brings a fact, and what comes with it. */
interface News {
  readonly actor: Actor
  /** The provider that it is about; null for what is true wherever the record is. */
  readonly from?: string | null
  readonly question?: Question | null
  readonly claim?: Claim | undefined
  readonly successStatus?: number | undefined
  readonly raw?: RawExchange | null | undefined
  readonly last?: StoredTransaction | undefined
}

/** Each time means that somebody else moved the same transaction between our read and our commit. */
const DECISIONS_AT_MOST = 16
/** Every create answers 201. */
const CREATED = 201

/**
 * Writes what providers say. The answer to the request, the callback and the reconciler all bring their news here, in any order and as
 * often as they like. Only a person's resolution is written elsewhere: `Review` has rules of its own.
 */
export class Settlement extends Context.Service<
  Settlement,
  {
    /**
     * Applies one fact: status, ledger entry, history line, event and (for the request itself) the stored answer are one commit.
     * Answers the transaction as it then is. A fact that changes nothing leaves a line in the history and nothing else.
     */
    readonly apply: (
      reference: Reference,
      fact: Fact,
      actor: Actor,
      claim?: Claim,
      /** The status of the stored answer where the operation succeeded. */
      successStatus?: number,
      /** What was sent and received, where the fact is the answer to a money call. */
      raw?: RawExchange | null,
      /** The record as the caller has just committed it. Where it has moved on since, that is found out and read. */
      last?: StoredTransaction
    ) => Effect.Effect<LedgerRecord>
    /** As `apply`, for what is known of one provider: once the record is at another one this is no news, and leaves nothing. */
    readonly applyFromProvider: (provider: string, reference: Reference, fact: Fact, actor: Actor) => Effect.Effect<LedgerRecord>
    /**
     * As `heard`, for the answer to a question. What "not found" proves is decided by the record as it is when the answer is written, and a
     * question counts once, however often its answer is applied.
     */
    readonly answered: (question: Question, reference: Reference, answer: Fact) => Effect.Effect<LedgerRecord>
  }
>()("gateway/services/Settlement") {
  static readonly layer = Layer.effect(
    Settlement,
    Effect.gen(function* () {
      const transactions = yield* Transactions
      const ledger = yield* FloatLedger
      const identifiers = yield* Identifiers
      const encoder = yield* AnswerEncoder
      const policy = yield* Policy
      const dispatcher = yield* WebhookDispatcher

      const stepOf = Effect.fnUntraced(function* (
        { revision, transaction }: StoredTransaction,
        fact: Fact,
        { actor, claim, question = null, raw = null, successStatus = CREATED }: News
      ) {
        const at = yield* Clock.currentTimeMillis
        const decision: Decision<LedgerRecord> =
          transaction.kind === "exchange" ? decideExchange(transaction, fact, at) : decide(transaction, fact, actor, at)
        const decided = counted(transaction, decision.next, fact, question)
        // In the same commit as the last question: nothing open is ever left with nobody to look at it.
        const overdue = isOverdue(decided, at)
        const next = overdue ? toBeReviewed(decided, at) : decided
        const event =
          decision.event === null
            ? null
            : freeze(
                {
                  id: yield* identifiers.reference,
                  appId: next.appId,
                  mode: next.mode,
                  type: decision.event,
                  reference: next.reference,
                  at
                },
                recordView(next)
              )
        const answer = claim === undefined ? null : answerBytes(encoder, next, fact, successStatus)
        return {
          expectedRevision: revision,
          next,
          entry: decision.entry,
          line: { at, actor, fact: fact._tag, note: noteOf(fact, overdue), status: next.status },
          event,
          nextAskAt: nextPoll(next, policy.askSchedule, at),
          answer: claim === undefined || answer === null ? null : { claim, answer },
          accepted: transaction.kind === "payout" && (fact._tag === "Accepted" || fact._tag === "Succeeded"),
          giveBack: transaction.kind === "payout" && transaction.status !== "failed" && next.status === "failed",
          wipe: isTerminal(next),
          raw
        } satisfies ApplyStep
      })

      const write = Effect.fnUntraced(function* (reference: Reference, told: Fact, news: News) {
        const { actor, from = null, last, question = null } = news
        yield* Effect.annotateCurrentSpan({ "gateway.reference": reference, "gateway.fact": told._tag, "gateway.actor": actor })
        for (let attempt = 0; attempt < DECISIONS_AT_MOST; attempt++) {
          const known = attempt === 0 ? Option.fromUndefinedOr(last) : Option.none()
          const stored = Option.isSome(known) ? known : yield* transactions.byReference(reference)
          if (Option.isNone(stored)) return yield* Effect.die(new Error(`there is no transaction ${reference}`))
          if (from !== null && stored.value.transaction.provider !== from) {
            yield* Effect.logWarning("a provider spoke of what is at another one by now").pipe(
              Effect.annotateLogs({ reference, provider: from, fact: told._tag, actor })
            )
            return stored.value.transaction
          }
          const fact = question === null ? told : believed(stored.value.transaction, told, question)
          const step = yield* stepOf(stored.value, fact, news)
          const result = yield* ledger.apply(step)
          if (result._tag === "Stale") continue
          if (step.event !== null) yield* dispatcher.nudge
          const drift = step.entry?.postings.find(({ account }) => account === "drift")
          if (drift !== undefined) {
            yield* Effect.logWarning("the provider took more than the fee that was held: the gateway bears the drift").pipe(
              Effect.annotateLogs({ reference, drift_minor: drift.amount.toString(), currency: drift.currency })
            )
          }
          yield* Effect.logInfo("settled").pipe(
            Effect.annotateLogs({ reference, fact: fact._tag, actor, status: step.next.status, moved: step.entry !== null })
          )
          return step.next
        }
        return yield* Effect.die(new Error(`the transaction ${reference} kept moving`))
      }, inSpan("Settlement.apply"))

      return Settlement.of({
        apply: (reference, fact, actor, claim, successStatus, raw, last) =>
          write(reference, fact, { actor, claim, successStatus, raw, last }),
        applyFromProvider: (from, reference, fact, actor) => write(reference, fact, { from, actor }),
        answered: (question, reference, answer) =>
          write(reference, answer, { question, from: question.provider, actor: question.actor })
      })
    })
  )
}

/** The provider's words, and the figures that a person compares. */
const noteOf = (fact: Fact, overdue: boolean): string => {
  const sums =
    fact._tag === "Succeeded"
      ? [`amount ${fact.amount ?? "unsaid"} ${fact.currency ?? ""}`.trim(), `fee ${fact.fee ?? "unsaid"}`]
      : []
  return [fact.note, ...sums, ...(overdue ? ["asked to the end of the schedule: a person has to look"] : [])]
    .filter((part) => part !== "")
    .join("; ")
}

/** The bytes to keep with the commit; null while the outcome is open, because then nothing may be kept. */
const answerBytes = (
  encoder: AnswerEncoder["Service"],
  next: LedgerRecord,
  fact: Fact,
  successStatus: number
): StoredAnswer | null =>
  Result.match(answerTo(next, fact), {
    onSuccess: (transaction) => encoder.success(successStatus, recordView(transaction)),
    onFailure: (refusal) => (isFinal(refusal) ? encoder.refusal(refusal) : null)
  })

const isFinal = (refusal: FinalRefusal | OpenRefusal): refusal is FinalRefusal =>
  refusal._tag === "payout_rejected_by_provider" ||
  refusal._tag === "charge_rejected_by_provider" ||
  refusal._tag === "insufficient_wallet_float" ||
  refusal._tag === "otp_incorrect"
