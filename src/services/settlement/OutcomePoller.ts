import { Clock, Context, Effect, Layer, Option } from "effect"
import { waitsForCode } from "../../domain/CollectionMoves.ts"
import type { LedgerRecord } from "../../domain/Exchange.ts"
import type { Actor, Fact } from "../../domain/Fact.ts"
import type { StatusPoll } from "../../domain/StatusPoll.ts"
import { pollLeaseMs } from "../../domain/TimeLimits.ts"
import { isTerminal } from "../../domain/Transaction.ts"
import { linkCurrentSpan } from "../../runtime/Tracing.ts"
import { makeWorker } from "../../runtime/Worker.ts"
import { Codes } from "../ports/Codes.ts"
import { Policy } from "../ports/Policy.ts"
import type { Provider, ProviderGuarantees, StatusOutcome } from "../ports/Provider.ts"
import { ProviderRegistry } from "../ports/ProviderRegistry.ts"
import { type StoredTransaction, Transactions } from "../ports/Transactions.ts"
import { Settlement } from "./Settlement.ts"

/** Transactions asked for at once. */
const SLOTS = 16
/** How often due transactions are looked for. */
const IDLE_MS = 250

/** Asks providers for what nobody told us: transactions whose outcome is open, and late truths about closed ones. */
export class OutcomePoller extends Context.Service<
  OutcomePoller,
  {
    /**
     * Asks the provider about one transaction now and applies what it says. False when nothing could be learnt. `actor` is why it is
     * asked: only the schedule's own questions ("reconciler") count towards "never sent".
     */
    readonly ask: (stored: StoredTransaction, actor: Actor) => Effect.Effect<boolean>
    /** Asks for what is due, at most as many as are asked for at once; answers how many. */
    readonly round: Effect.Effect<number>
    /** Asks for ever. */
    readonly run: Effect.Effect<never>
  }
>()("gateway/services/OutcomePoller") {
  static readonly layer = Layer.effect(
    OutcomePoller,
    Effect.gen(function* () {
      const transactions = yield* Transactions
      const registry = yield* ProviderRegistry
      const settlement = yield* Settlement
      const policy = yield* Policy
      const codes = yield* Codes

      const ask = Effect.fn("OutcomePoller.ask")(function* ({ traceparent, transaction }: StoredTransaction, actor: Actor) {
        const { reference } = transaction
        yield* Effect.annotateCurrentSpan({ "gateway.reference": reference, "gateway.actor": actor })
        yield* linkCurrentSpan([traceparent ?? null])
        const provider = registry.find(transaction.provider, transaction.mode)
        const guarantees = Option.getOrNull(Option.map(provider, (one) => one.guarantees))
        const question = {
          ...proofOf(guarantees, policy),
          provider: transaction.provider,
          actor,
          polledAt: yield* Clock.currentTimeMillis,
          pollCount: transaction.asked,
          version: transaction.version
        }
        if (Option.isNone(provider)) {
          yield* Effect.logError("an open transaction belongs to a provider that is not registered").pipe(
            Effect.annotateLogs({ reference })
          )
          const unknown = { _tag: "Unknown", reason: "unavailable", note: "the provider is not registered" } as const
          yield* settlement.applyAnswer(question, reference, unknown)
          return false
        }
        const ended = yield* closeWithoutAsking(transaction, actor)
        if (Option.isSome(ended)) return ended.value
        const answer = yield* answerOf(provider.value, transaction)
        // The first that is heard of it is that it came back: it was delivered before.
        if (answer._tag === "Returned" && transaction.kind === "payout" && transaction.status === "pending") {
          const fact = deliveredBefore(transaction, answer)
          yield* settlement.applyFromProvider(transaction.provider, { reference, fact, actor })
        }
        yield* settlement.applyAnswer(question, reference, answer)
        // That something closed is still open is no news: what a callback told of is not to be seen there yet.
        const isStale = answer._tag === "StillPending" && isTerminal(transaction)
        return answer._tag !== "Unknown" && answer._tag !== "NotFound" && !isStale
      })

      /** Once the window of its code passed, what became of its codes says whether there is anything to ask for. */
      const closeWithoutAsking = Effect.fnUntraced(function* (record: LedgerRecord, actor: Actor) {
        const now = yield* Clock.currentTimeMillis
        if (record.kind !== "collection" || !waitsForCode(record) || now < (record.expiresAt ?? now)) return Option.none()
        const { reference } = record
        const standing = yield* codes.close(reference, now)
        // The request that sent it brings the answer, or leaves it unheard.
        if (standing === "leased") return Option.some(false)
        if (standing === "free") {
          yield* settlement.apply({
            reference,
            fact: { _tag: "Expired", note: "the code expired and nothing was charged" },
            actor
          })
          return Option.some(true)
        }
        // From here on it is asked for like every charge that may have been placed.
        const note = "nobody heard the answer to a code"
        yield* settlement.apply({ reference, fact: { _tag: "Charged", expiresAt: now + policy.collectionExpiryMs, note }, actor })
        return Option.some(false)
      })

      const claim = Effect.fnUntraced(function* (free: number) {
        // It outlives the calls that one question may need; a node that dies holds nothing longer than this.
        const lease = pollLeaseMs(policy.providerTimeoutMs)
        return yield* transactions.claimDue(yield* Clock.currentTimeMillis, free, lease)
      })

      const work = (stored: StoredTransaction) =>
        Effect.asVoid(ask(stored, "reconciler")).pipe(Effect.annotateLogs({ reference: stored.transaction.reference }))

      const worker = yield* makeWorker({ name: "OutcomePoller", slots: SLOTS, idleMs: IDLE_MS, claim, work })

      return OutcomePoller.of({ ask, round: worker.round, run: worker.run })
    })
  )
}

/** What "not found" may prove. A provider that is not there guarantees nothing. */
const proofOf = (
  guarantees: ProviderGuarantees | null,
  { notFoundCount, notFoundGraceMs }: Pick<Policy["Service"], "notFoundCount" | "notFoundGraceMs">
): Pick<StatusPoll, "isDocumented" | "graceMs" | "notFoundAtLeast"> => ({
  isDocumented: guarantees?.lookup === "by_client_ref",
  graceMs: Math.max(notFoundGraceMs, guarantees?.notFoundGraceMs ?? 0),
  notFoundAtLeast: notFoundCount
})

const deliveredBefore = (
  { providerReference }: LedgerRecord,
  { amount, charged, currency, note }: Extract<StatusOutcome, { _tag: "Returned" }>
): Fact => ({
  _tag: "Succeeded",
  providerReference,
  amount,
  currency,
  fee: charged,
  note
})

/** Asks the provider for one record; `Unknown` where the question has no answer. */
export const answerOf = (provider: Provider, transaction: LedgerRecord): Effect.Effect<StatusOutcome> => {
  const port = { payout: provider.payouts, collection: provider.collections, exchange: provider.exchange }[transaction.kind]
  const unable: StatusOutcome = { _tag: "Unknown", reason: "unavailable", note: "the provider cannot be asked for this" }
  if (port === undefined) return Effect.succeed(unable)
  return port.fetchStatus({
    reference: transaction.reference,
    providerReference: transaction.providerReference,
    currency: transaction.currency,
    destinationCurrency: transaction.kind === "collection" ? null : transaction.destinationCurrency,
    sentAt: transaction.createdAt
  })
}
