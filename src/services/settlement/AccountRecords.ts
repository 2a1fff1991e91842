import { Effect, Option } from "effect"
import { isReference } from "../../domain/Ids.ts"
import type { Transaction, TransactionKind } from "../../domain/Transaction.ts"
import type { Provider } from "../ports/Provider.ts"
import { type ProviderRegistry, sentWith } from "../ports/ProviderRegistry.ts"
import type { Transactions } from "../ports/Transactions.ts"

/** How a row of an account's list names a movement. */
interface Named {
  /** Null when the row may be about any payment. */
  readonly direction: TransactionKind | null
  readonly reference: string | null
  readonly providerReference: string | null
}

export const accountRecords = (
  registry: Pick<ProviderRegistry["Service"], "accounts" | "claimed">,
  transactions: Pick<Transactions["Service"], "byReference" | "byProviderReference">
) => {
  const isOf = (provider: Provider, record: Transaction): boolean =>
    Option.getOrUndefined(sentWith(registry, record)) === provider

  /** A record of any age. Records that were sent with another account do not count. */
  const oursOf = Effect.fnUntraced(function* (provider: Provider, { direction, providerReference, reference }: Named) {
    const { mode, name } = provider
    const byOurs = isReference(reference) ? yield* transactions.byReference(reference) : Option.none()
    const found =
      Option.isSome(byOurs) || providerReference === null
        ? Option.toArray(byOurs)
        : yield* transactions.byProviderReference(name, mode, providerReference)
    return Option.fromUndefinedOr(
      found
        .map(({ transaction }) => transaction)
        .find((record) => isOf(provider, record) && (direction === null || record.kind === direction))
    )
  })

  return { isOf, oursOf }
}
