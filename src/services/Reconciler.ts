import { Clock, Context, Effect, Layer, Option } from "effect"
import type { Actor, Fact } from "../domain/Fact.ts"
import type { Instant } from "../domain/Instant.ts"
import { isTerminal, type Transaction } from "../domain/Transaction.ts"
import { Policy } from "./ports/Policy.ts"
import type { Answer, Promises, Provider } from "./ports/Provider.ts"
import { ProviderRegistry } from "./ports/ProviderRegistry.ts"
import { type StoredTransaction, Transactions } from "./ports/Transactions.ts"
import { Settlement } from "./Settlement.ts"
import { makeWorker } from "./Worker.ts"

/** Transactions asked for at once. */
const SLOTS = 16
/** A lease outlives the calls that one question may need; a node that dies holds nothing longer than this. */
const CALLS_A_QUESTION = 3
const LEASE_MARGIN_MS = 10_000
/** How often due transactions are looked for. */
const IDLE_MS = 250

/** Asks providers for what nobody told us: transactions whose outcome is open, and late truths about closed ones. */
export class Reconciler extends Context.Service<
  Reconciler,
  {
    /** Asks the provider about one transaction now and applies what it says. False when nothing could be learnt. */
    readonly ask: (stored: StoredTransaction, actor: Actor) => Effect.Effect<boolean>
    /** Asks for what is due, at most as many as are asked for at once; answers how many. */
    readonly round: Effect.Effect<number>
    /** Asks for ever. */
    readonly run: Effect.Effect<never>
  }
>()("gateway/services/Reconciler") {
  static readonly layer = Layer.effect(
    Reconciler,
    Effect.gen(function* () {
      const transactions = yield* Transactions
      const registry = yield* ProviderRegistry
      const settlement = yield* Settlement
      const policy = yield* Policy

      const ask = Effect.fn("Reconciler.ask")(function* ({ transaction }: StoredTransaction, actor: Actor) {
        const { reference } = transaction
        yield* Effect.annotateCurrentSpan({ "gateway.reference": reference, "gateway.actor": actor })
        const provider = registry.find(transaction.provider, transaction.mode)
        if (Option.isNone(provider)) {
          yield* Effect.logError("an open transaction belongs to a provider that is not registered").pipe(
            Effect.annotateLogs({ reference })
          )
          yield* settlement.apply(
            reference,
            { _tag: "Unknown", reason: "unavailable", note: "the provider is not registered" },
            actor
          )
          return false
        }
        const answer = yield* answerOf(provider.value, transaction)
        const now = yield* Clock.currentTimeMillis
        // The first that is heard of it is that it came back: it was delivered before.
        if (answer._tag === "Returned" && transaction.kind === "payout" && transaction.status === "pending") {
          yield* settlement.apply(reference, deliveredBefore(transaction, answer), actor)
        }
        yield* settlement.apply(reference, believed(transaction, answer, provider.value.promises, policy, now), actor)
        return answer._tag !== "Unknown" && answer._tag !== "NotFound"
      })

      const claim = Effect.fnUntraced(function* (free: number) {
        const lease = policy.providerTimeoutMs * CALLS_A_QUESTION + LEASE_MARGIN_MS
        return yield* transactions.claimDue(yield* Clock.currentTimeMillis, free, lease)
      })

      const work = (stored: StoredTransaction) =>
        Effect.asVoid(ask(stored, "reconciler")).pipe(Effect.annotateLogs({ reference: stored.transaction.reference }))

      const worker = yield* makeWorker({ name: "Reconciler", slots: SLOTS, idleMs: IDLE_MS, claim, work })

      return Reconciler.of({ ask, round: worker.round, run: worker.run })
    })
  )
}

const deliveredBefore = (
  { providerReference }: Transaction,
  { amount, charged, currency, note }: Extract<Answer, { _tag: "Returned" }>
): Fact => ({
  _tag: "Succeeded",
  providerReference,
  amount,
  currency,
  fee: charged,
  note
})

const answerOf = (provider: Provider, transaction: Transaction): Effect.Effect<Answer> => {
  const port = transaction.kind === "payout" ? provider.payouts : provider.collections
  const unable: Answer = { _tag: "Unknown", reason: "unavailable", note: "the provider cannot be asked for this" }
  if (port === undefined) return Effect.succeed(unable)
  return port.ask({
    reference: transaction.reference,
    providerReference: transaction.providerReference,
    currency: transaction.currency,
    destinationCurrency: transaction.kind === "payout" ? transaction.destinationCurrency : null,
    sentAt: transaction.createdAt
  })
}

/**
 * What an answer proves. "Not found" counts as never sent only where the provider documents the query by our reference, after the
 * longer of the two graces and often enough in a row. A collection whose window passed expires once an authenticated answer says
 * neither success nor live; no timer fails anything by itself.
 */
const believed = (
  transaction: Transaction,
  answer: Answer,
  promises: Promises,
  policy: Pick<Policy["Service"], "notFoundCount" | "notFoundGraceMs">,
  now: Instant
): Fact => {
  if (answer._tag !== "NotFound" || isTerminal(transaction)) return answer
  const documented = promises.lookup === "by_client_ref"
  const grace = Math.max(policy.notFoundGraceMs, promises.notFoundGraceMs)
  const enough = now - transaction.createdAt >= grace && transaction.notFound + 1 >= policy.notFoundCount
  const passed = transaction.expiresAt !== null && now >= transaction.expiresAt
  if (transaction.kind === "collection" && passed)
    return { _tag: "Expired", note: "the window passed and the provider knows no such charge" }
  return documented && enough ? { _tag: "NotSent", note: "the provider does not know it: it was never sent" } : answer
}
