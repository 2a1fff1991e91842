import { Clock, Context, Effect, Exit, Layer, Option } from "effect"
import { isKnown } from "../../domain/Clawback.ts"
import type { Actor } from "../../domain/Fact.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import type { Provider } from "../ports/Provider.ts"
import type { ListedClawback } from "../ports/ProviderClawbacks.ts"
import { ProviderRegistry } from "../ports/ProviderRegistry.ts"
import { Transactions } from "../ports/Transactions.ts"
import { accountRecords } from "./AccountRecords.ts"
import { Settlement } from "./Settlement.ts"

const DAY_MS = 86_400_000
/** Disputes are begun long after the payment, and end long after they began: the lists are short, and read so far back. */
const LISTED_FOR_MS = 90 * DAY_MS

/** Whether what was taken back of charges is seen in the account's statements. */
export const showsInStatement = ({ guarantees, statement }: Pick<Provider, "guarantees" | "statement">): boolean =>
  statement !== undefined && guarantees.clawbacksUnstated !== true

/** The disputes and refunds of collections at their provider. Each new one opens a review, and moves nothing by itself. */
export class Clawbacks extends Context.Service<
  Clawbacks,
  {
    /** Asks what is listed of one charge, because a callback or a person says that there may be something. Answers the record as it then is. */
    readonly ofCharge: (provider: Provider, record: Transaction, actor: Actor) => Effect.Effect<Transaction>
    /** All that the account lists. False where one of its lists could not be read to its end, or one of its rows not be processed. */
    readonly ofAccount: (provider: Provider) => Effect.Effect<boolean>
  }
>()("gateway/services/settlement/Clawbacks") {
  static readonly layer = Layer.effect(
    Clawbacks,
    Effect.gen(function* () {
      const settlement = yield* Settlement
      const { oursOf } = accountRecords(yield* ProviderRegistry, yield* Transactions)

      const listedSince = Effect.fnUntraced(function* (provider: Provider, since: Instant, providerReference: string | null) {
        const read = provider.collections?.clawbacks
        if (read === undefined) return { listed: [], isWhole: true }
        return yield* read({ since, until: (yield* Clock.currentTimeMillis) + DAY_MS, providerReference })
      })

      /** Null where it is no news of a record of ours. */
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
            // One record that cannot be read hides nothing of the others.
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

      return Clawbacks.of({ ofCharge, ofAccount })
    })
  )
}
