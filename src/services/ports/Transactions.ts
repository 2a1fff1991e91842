import { Context, type Effect, type Option } from "effect"
import type { Currency } from "../../domain/Currency.ts"
import type { Exchange } from "../../domain/Exchange.ts"
import type { RateLimited } from "../../domain/errors/Retriable.ts"
import type { AppId, Mode, Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Entry } from "../../domain/Ledger.ts"
import type { MinorUnits } from "../../domain/Money.ts"
import type { FailureCode, Payment, PaymentKind } from "../../domain/Payment.ts"
import type { RefundableCollection } from "../../domain/Refund.ts"
import type { Transaction, TransactionKind } from "../../domain/Transaction.ts"
import type { AuditEntry } from "./AuditLog.ts"
import type { HistoryLine } from "./FloatLedger.ts"

/** A stored record, or an exchange. `revision` grows with every write of the row, even one that no tenant sees. */
export interface StoredTransaction {
  readonly transaction: Transaction
  readonly revision: bigint
  /** Trace context of the request that created it; absent when the reader does not need it. */
  readonly traceparent?: string | null
}

/** The revision of a record as `FloatLedger.open` wrote it. */
export const FIRST_REVISION = 1n

/** The last call for this record that moves money, masked; both are null when there was none. */
export interface RawCall {
  readonly rawRequest: string | null
  readonly rawResponse: string | null
}

export interface RawTransaction extends RawCall {
  readonly transaction: Payment
}

export interface CreatedRange {
  readonly provider: string
  readonly mode: Mode
  readonly from: Instant
  readonly to: Instant
}

/** `from` is inclusive, `to` exclusive; null at an open end. */
export interface TimeRange {
  readonly from: Instant | null
  readonly to: Instant | null
}

/** The filters of a tenant's list; null for no filter. */
export interface TransactionFilter {
  readonly kind: PaymentKind | null
  readonly status: Payment["status"] | null
  readonly needsReview: boolean | null
  /** The currency of the float that moves; for an exchange either of its two. */
  readonly currency: Currency | null
  readonly created: TimeRange | null
  readonly completed: TimeRange | null
  /** Inclusive. */
  readonly updatedFrom: Instant | null
  /** The key of the request that created the record; matches for as long as the key is kept. */
  readonly idempotencyKey: string | null
  /** A metadata member with exactly this value as text. */
  readonly metadata: MetadataMember | null
}

export interface MetadataMember {
  readonly key: string
  readonly value: string
}

/** A tenant's search among its records. */
export type SoughtRecords =
  /** The records of a party with one of these keyed hashes (`account`: of a recipient's account), as long as they are kept. */
  | { readonly _tag: "party" | "account"; readonly hashes: ReadonlyArray<Uint8Array> }
  /** The record with this receipt number (`receiptIdentity`). */
  | { readonly _tag: "receipt"; readonly identity: string }
  /** The records whose metadata has all of these members; at least one is given. */
  | { readonly _tag: "metadata"; readonly members: ReadonlyArray<MetadataMember> }
  /** The records whose metadata has this value under one of the names that the tenant's newest records use. */
  | { readonly _tag: "value"; readonly value: string }
  /** The record that a request with this idempotency key created; for as long as the key is kept. */
  | { readonly _tag: "key"; readonly key: string }

export interface PostedEntry extends Entry {
  readonly at: Instant
}

/** The filters of an operator's search; null for no filter. */
export interface RecordFilter {
  readonly appId: AppId | null
  readonly mode: Mode | null
  readonly kind: TransactionKind | null
  readonly status: Transaction["status"] | null
  readonly provider: string | null
  /** Of payouts and collections; an exchange has none. */
  readonly corridor: { readonly country: string; readonly currency?: string; readonly method?: string } | null
  readonly failure: FailureCode | null
  /** The currency of the requested amount. */
  readonly currency: Currency | null
  /** The requested amount in minor units; both bounds are inclusive. */
  readonly amountFrom: bigint | null
  readonly amountTo: bigint | null
  /** The last four characters of the payer's or recipient's number. */
  readonly partyEnd: string | null
  readonly needsReview: boolean
  /** Only open records whose provider did not answer or does not know them. */
  readonly isUnknown: boolean
  /** Inclusive. */
  readonly createdFrom: Instant | null
  /** Exclusive. */
  readonly createdTo: Instant | null
}

export interface FoundRecords {
  readonly items: ReadonlyArray<Transaction>
  /** Records created before this time were not searched and may match. Null when no older record can match. */
  readonly olderThan: Instant | null
}

/**
 * The time by which a list is ordered. By creation or completion the newest record comes first. By update the newest comes
 * last, so that a client can continue from there. The few records of an idempotency key are ordered by creation.
 */
export type ListOrder = "created" | "completed" | "updated"
export const orderOf = ({ completed, idempotencyKey, updatedFrom }: TransactionFilter): ListOrder =>
  idempotencyKey !== null ? "created" : updatedFrom !== null ? "updated" : completed !== null ? "completed" : "created"

/** Where a page of a list ended: the time that orders the list, and the reference. */
export interface ListPosition {
  readonly at: Instant
  readonly id: string
}

/** Which page to read: at most `limit` records after `from`; null begins the list. */
export interface ListPage {
  readonly limit: number
  readonly from: ListPosition | null
}

export interface TransactionPage<R extends Transaction = Payment> {
  readonly items: ReadonlyArray<R>
  /** Null at the end of the list. */
  readonly next: ListPosition | null
}

/** The tenant and mode whose records are read. */
export interface RecordOwner {
  readonly appId: AppId
  readonly mode: Mode
}

/**
 * Reads of payouts, collections and exchanges; only `FloatLedger` writes them. A tenant finds only its own records of its mode.
 * `claimDue` is the queue for polling outcomes: at least once, one node at a time under a lease, longest due first.
 */
export class Transactions extends Context.Service<
  Transactions,
  {
    /** The tenant's record; none when it does not exist, belongs to another tenant or is of the other mode. */
    readonly find: (appId: AppId, mode: Mode, reference: Reference) => Effect.Effect<Option.Option<StoredTransaction>>
    /**
     * The tenant's payouts and collections in the filter's order (`orderOf`): at most `limit`, after `from`. One call examines
     * a bounded number of places, so a page may hold fewer records or none while `next` is set. Every record that was committed
     * before the first page appears on exactly one page; a record that changes in the meantime appears where its change puts
     * it. A record that cannot be read is logged and left out. Only one page per tenant is read at a time and few may queue:
     * any other request is refused with RateLimited.
     */
    readonly list: (owner: RecordOwner, filter: TransactionFilter, page: ListPage) => Effect.Effect<TransactionPage, RateLimited>
    /** As `list`, for the tenant's exchanges. */
    readonly exchanges: (
      owner: RecordOwner,
      filter: TransactionFilter,
      page: ListPage
    ) => Effect.Effect<TransactionPage<Exchange>, RateLimited>
    /** As `list`, for a search. */
    readonly sought: (owner: RecordOwner, sought: SoughtRecords, page: ListPage) => Effect.Effect<TransactionPage, RateLimited>
    /** The tenant's collection with everything on which its refund depends, from one snapshot; none for anything else. */
    readonly refundable: (appId: AppId, mode: Mode, reference: Reference) => Effect.Effect<Option.Option<RefundableCollection>>
    /** The sum of the refunds of each of the tenant's collections that has any, computed as in `RefundableCollection`. */
    readonly refunded: (
      owner: RecordOwner,
      references: ReadonlyArray<Reference>
    ) => Effect.Effect<ReadonlyMap<Reference, MinorUnits>>
    /** The record of any tenant, for Settlement, the reconciler and operators. */
    readonly byReference: (reference: Reference) => Effect.Effect<Option.Option<StoredTransaction>>
    /** As `byReference`, for an operator: the read and its audit row are one commit. None writes no audit row. */
    readonly audited: (reference: Reference, audit: AuditEntry) => Effect.Effect<Option.Option<StoredTransaction>>
    /**
     * The records of any tenant, including exchanges, newest first: at most `limit`, after `from`. One call looks back over a
     * bounded time, so a page may hold fewer records or none while `next` is set. A record that cannot be read is logged and
     * left out. One search runs at a time and few may queue: any other is refused with RateLimited.
     */
    readonly search: (filter: RecordFilter, page: ListPage) => Effect.Effect<TransactionPage<Transaction>, RateLimited>
    /**
     * As `sought`, over all tenants, for an operator, with several terms at once: records created before `before`, at most
     * `limit` per term and per step over tenants. `value`, the slowest search, runs only when the other terms find nothing. The
     * search has a time limit; `isWhole`: every tenant was searched. Null when the storage cannot do this. It shares its queue
     * with `search`.
     */
    readonly soughtEverywhere: (
      terms: ReadonlyArray<SoughtRecords>,
      page: { readonly mode: Mode | null; readonly before: Instant | null; readonly limit: number }
    ) => Effect.Effect<(FoundRecords & { readonly isWhole: boolean }) | null, RateLimited>
    /** Writes the audit row of an operator's search. Every search by a term writes it before the search runs. */
    readonly noteSearch: (audit: AuditEntry) => Effect.Effect<void>
    /** When the provider will be polled next about this record; none when it is no longer polled. */
    readonly nextPoll: (reference: Reference) => Effect.Effect<Option.Option<Instant>>
    /**
     * Looks records up by the provider's handle, for callbacks and lists that carry nothing else. Returns all matches, oldest
     * first: a provider may number payouts and collections separately, and each of its accounts may start anew, so that the
     * caller must choose.
     */
    readonly byProviderReference: (
      provider: string,
      mode: Mode,
      providerReference: string
    ) => Effect.Effect<ReadonlyArray<StoredTransaction>>
    /** In chronological order; empty when there is no such transaction. */
    readonly history: (reference: Reference) => Effect.Effect<ReadonlyArray<HistoryLine>>
    /** The record's postings in order; empty when no money moved. */
    readonly entries: (reference: Reference) => Effect.Effect<ReadonlyArray<PostedEntry>>
    /** The records created at one provider in `from <= created < to`, in that order; at most `limit`, after the record `after`. */
    readonly createdBetween: (
      span: CreatedRange,
      after: Transaction | null,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Transaction>>
    /** Claims up to `limit` records to poll, for `leaseMs`; no other node gets them. An unreadable one is logged and left out. */
    readonly claimDue: (now: Instant, limit: number, leaseMs: number) => Effect.Effect<ReadonlyArray<StoredTransaction>>
    /**
     * Returns a claimed record that could not be polled: it can be claimed again at `at`, in its old place in the queue. Does
     * nothing when the record was written in the meantime.
     */
    readonly putBack: (record: Transaction, at: Instant) => Effect.Effect<void>
    /** At most `limit` records in review, oldest first. A record that cannot be read is logged and left out. */
    readonly inReview: (limit: number) => Effect.Effect<ReadonlyArray<StoredTransaction>>
    /**
     * A payout or collection of that mode, of any tenant, with its last money call, masked. The read and its audit row are one
     * commit. None writes no audit row.
     */
    readonly raw: (mode: Mode, reference: Reference, audit: AuditEntry) => Effect.Effect<Option.Option<RawTransaction>>
    /** Any record's last money call, masked. The read and its audit row are one commit. None writes no audit row. */
    readonly lastCall: (reference: Reference, audit: AuditEntry) => Effect.Effect<Option.Option<RawCall>>
  }
>()("gateway/services/ports/Transactions") {}
