import { Context, type Effect, type Option } from "effect"
import type { AppId, Mode, Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import type { HistoryLine } from "./FloatLedger.ts"

/** A record as it is stored. `revision` grows with every write of the row, also those that a tenant cannot see. */
export interface StoredTransaction {
  readonly transaction: Transaction
  readonly revision: bigint
}

/** Reads transactions; only FloatLedger writes them. */
export class Transactions extends Context.Service<
  Transactions,
  {
    /** The tenant's own record; none for an absent one, a foreign one or one of the other mode alike. */
    readonly find: (appId: AppId, mode: Mode, reference: Reference) => Effect.Effect<Option.Option<StoredTransaction>>
    /** Whosever it is: for Settlement, the reconciler and operators. */
    readonly byReference: (reference: Reference) => Effect.Effect<Option.Option<StoredTransaction>>
    /** By the provider's own handle, for callbacks that carry only that. */
    readonly byProviderReference: (
      provider: string,
      mode: Mode,
      providerReference: string
    ) => Effect.Effect<Option.Option<StoredTransaction>>
    /** In the order in which it happened; empty when there is no such transaction. */
    readonly history: (reference: Reference) => Effect.Effect<ReadonlyArray<HistoryLine>>
    /** Takes up to `limit` transactions whose time to be asked for has come, for `leaseMs`; no other node gets them meanwhile. */
    readonly claimDue: (now: Instant, limit: number, leaseMs: number) => Effect.Effect<ReadonlyArray<StoredTransaction>>
    /** The recipient, as the Vault sealed it; none once wiped. */
    readonly sealedDestination: (reference: Reference) => Effect.Effect<Option.Option<Uint8Array>>
  }
>()("gateway/services/ports/Transactions") {}
