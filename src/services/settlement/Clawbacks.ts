import { Clock, Context, Effect, Exit, Option } from "effect"
import { clawback, isKnown } from "../../domain/Clawback.ts"
import type { Actor } from "../../domain/Fact.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { StatementLine } from "../../domain/ReconciliationDifference.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import type { Provider } from "../ports/Provider.ts"
import type { ListedClawback } from "../ports/ProviderClawbacks.ts"
import { ProviderRegistry } from "../ports/ProviderRegistry.ts"
import { Transactions } from "../ports/Transactions.ts"
import { accountRecords } from "./AccountRecords.ts"
import { Settlement } from "./Settlement.ts"

const DAY_MS = 86_400_000
/** Disputes begin and end long after the payment, but the lists are short: they are read this far back. */
const LISTED_FOR_MS = 90 * DAY_MS

/** Whether clawbacks of charges appear in the account's statements. */
export const showsInStatement = ({ guarantees, statement }: Pick<Provider, "guarantees" | "statement">): boolean =>
  statement !== undefined && guarantees.clawbacksUnstated !== true

interface StatedRefund {
  readonly line: StatementLine
  readonly record: Transaction
}

/** The disputes and refunds of collections at their provider. Each new one opens a review, and moves no money by itself. */
export class Clawbacks extends Context.Service<
  Clawbacks,
  {
    /** Reads what is listed for one charge, because a callback or an operator hints at something. Returns the record after it. */
    readonly ofCharge: (provider: Provider, record: Transaction, actor: Actor) => Effect.Effect<Transaction>
    /** Reads all that the account lists. False when a list could not be read to its end, or a row not processed. */
    readonly ofAccount: (provider: Provider) => Effect.Effect<boolean>
    /**
     * The refunds in a statement that are separate movements and name a charge of ours, with the charge after they were
     * applied. `isWhole` is false when one could not be processed; it is then left out.
     */
    readonly ofStatement: (
      provider: Provider,
      lines: ReadonlyArray<StatementLine>
    ) => Effect.Effect<{ readonly refunds: ReadonlyArray<StatedRefund>; readonly isWhole: boolean }>
  }
>()("gateway/services/settlement/Clawbacks") {
  static readonly layer = layerOf(Clawbacks)(function* () {
    const settlement = yield* Settlement
    const { oursOf } = accountRecords(yield* ProviderRegistry, yield* Transactions)

    const listedSince = Effect.fnUntraced(function* (provider: Provider, since: Instant, providerReference: string | null) {
      const read = provider.collections?.clawbacks
      if (read === undefined) return { listed: [], isWhole: true }
      return yield* read({ since, until: (yield* Clock.currentTimeMillis) + DAY_MS, providerReference })
    })

    /** Null when it is nothing new about a record of ours. */
    const applyOne = Effect.fnUntraced(function* (
      provider: Provider,
      actor: Actor,
      one: ListedClawback,
      only: Transaction | null
    ) {
      const record = Option.getOrUndefined(yield* oursOf(provider, { direction: "collection", ...one }))
      if (record === undefined || (only !== null && record.reference !== only.reference)) return null
      const fact = one.factIn(record.currency)
      if (isKnown(record, fact)) return null
      return yield* settlement.applyFromProvider(provider.name, { reference: record.reference, fact, actor })
    })

    const apply = Effect.fnUntraced(function* (
      provider: Provider,
      actor: Actor,
      listed: ReadonlyArray<ListedClawback>,
      only: Transaction | null
    ) {
      let last = only
      let isWhole = true
      for (const one of listed) {
        const applied = yield* Effect.exit(applyOne(provider, actor, one, only))
        if (Exit.isSuccess(applied)) last = applied.value ?? last
        else {
          // One record that fails does not hide the others.
          isWhole = false
          yield* Effect.logError("what is listed as taken back of a collection could not be processed", applied.cause)
        }
      }
      return { last, isWhole }
    })

    const ofCharge = Effect.fn("Clawbacks.ofCharge")(function* (provider: Provider, record: Transaction, actor: Actor) {
      const { listed } = yield* listedSince(provider, record.createdAt, record.providerReference)
      return (yield* apply(provider, actor, listed, record)).last ?? record
    })

    const ofAccount = Effect.fn("Clawbacks.ofAccount")(function* (provider: Provider) {
      const { isWhole, listed } = yield* listedSince(provider, (yield* Clock.currentTimeMillis) - LISTED_FOR_MS, null)
      const applied = yield* apply(provider, "reconciler", listed, null)
      return isWhole && applied.isWhole
    })

    /** The first charge of ours among the names in the row. */
    const refundedBy = Effect.fnUntraced(function* (provider: Provider, names: ReadonlyArray<string>) {
      for (const name of names) {
        const named = { direction: "collection", reference: name, providerReference: name } as const
        const record = yield* oursOf(provider, named)
        if (Option.isSome(record)) return record.value
      }
      return null
    })

    const noteRefund = Effect.fnUntraced(function* (provider: Provider, line: StatementLine) {
      const record = yield* refundedBy(provider, line.refundOf ?? [])
      if (record === null) return []
      const { amount, currency, providerReference: id } = line
      const state = line.status === "failed" ? ("kept" as const) : ("taken" as const)
      const fact = clawback({ by: "refund", id, state, amount, currency, reason: null, answerBy: null })
      if (isKnown(record, fact)) return [{ line, record }]
      const { reference } = record
      return [{ line, record: yield* settlement.applyFromProvider(provider.name, { reference, fact, actor: "reconciler" }) }]
    })

    const ofStatement = Effect.fn("Clawbacks.ofStatement")(function* (provider: Provider, lines: ReadonlyArray<StatementLine>) {
      const rows = lines.filter(({ refundOf }) => refundOf !== undefined)
      const noted = yield* Effect.forEach(rows, (line) => Effect.exit(noteRefund(provider, line)))
      for (const exit of noted)
        if (Exit.isFailure(exit)) yield* Effect.logError("a refund in a statement could not be processed", exit.cause)
      return {
        refunds: noted.flatMap((exit) => (Exit.isSuccess(exit) ? exit.value : [])),
        isWhole: noted.every(Exit.isSuccess)
      }
    })

    return { ofCharge, ofAccount, ofStatement }
  })
}
