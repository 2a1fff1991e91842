import { Context, type Effect, type Option } from "effect"
import type { LedgerRecord } from "../../domain/Exchange.ts"
import type { AppId, Mode, Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import type { AuditEntry } from "./AuditLog.ts"
import type { HistoryLine } from "./FloatLedger.ts"

/** A record as it is stored, an exchange among them. `revision` grows with every write of the row, also those that a tenant cannot see. */
export interface StoredTransaction {
  readonly transaction: LedgerRecord
  readonly revision: bigint
  /** Trace context of the request that began it; absent where the reader does not need it. */
  readonly traceparent?: string | null
}

/** Of a record as `FloatLedger.open` wrote it. */
export const FIRST_REVISION = 1n

/** The last money call that was made for a record, masked; null where none was made. */
export interface RawCall {
  readonly rawRequest: string | null
  readonly rawResponse: string | null
}

export interface RawTransaction extends RawCall {
  readonly transaction: Transaction
}

export interface CreatedRange {
  readonly provider: string
  readonly mode: Mode
  readonly from: Instant
  readonly to: Instant
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
    /** What was begun at one provider in `from <= created < to`, in that order; at most `limit`, those after the record `after`. */
    readonly createdBetween: (
      span: CreatedRange,
      after: LedgerRecord | null,
      limit: number
    ) => Effect.Effect<ReadonlyArray<LedgerRecord>>
    /**
     * Takes up to `limit` transactions whose time to be asked for has come, for `leaseMs`; no other node gets them meanwhile. A record that
     * cannot be read is logged and left out.
     */
    readonly claimDue: (now: Instant, limit: number, leaseMs: number) => Effect.Effect<ReadonlyArray<StoredTransaction>>
    /** At most `limit` records that need a person, the oldest first. A record that cannot be read is logged and left out. */
    readonly inReview: (limit: number) => Effect.Effect<ReadonlyArray<StoredTransaction>>
    /** Any tenant's payout or collection of that mode with the last money call, masked; the read and its audit row are one commit. None leaves no row. */
    readonly raw: (mode: Mode, reference: Reference, audit: AuditEntry) => Effect.Effect<Option.Option<RawTransaction>>
    /** What was last sent and answered for any record, masked; the read and its audit row are one commit. None leaves no row. */
    readonly lastCall: (reference: Reference, audit: AuditEntry) => Effect.Effect<Option.Option<RawCall>>
    /** The recipient, as the Vault sealed it; none once wiped. */
    readonly sealedDestination: (reference: Reference) => Effect.Effect<Option.Option<Uint8Array>>
  }
>()("gateway/services/ports/Transactions") {}
