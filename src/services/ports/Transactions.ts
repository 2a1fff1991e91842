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

/** A record as it is stored, an exchange among them. `revision` grows with every write of the row, also those that a tenant cannot see. */
export interface StoredTransaction {
  readonly transaction: Transaction
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
  readonly transaction: Payment
}

export interface CreatedRange {
  readonly provider: string
  readonly mode: Mode
  readonly from: Instant
  readonly to: Instant
}

/** `from` is included and `to` is not; null at an open end. */
export interface TimeRange {
  readonly from: Instant | null
  readonly to: Instant | null
}

/** The filters of a tenant's list; null for no filter. */
export interface TransactionFilter {
  readonly kind: PaymentKind | null
  readonly status: Payment["status"] | null
  readonly needsReview: boolean | null
  /** Of the float that moves; of an exchange either of the two. */
  readonly currency: Currency | null
  readonly created: TimeRange | null
  readonly completed: TimeRange | null
  /** Included. */
  readonly updatedFrom: Instant | null
  /** Of the request that began it; found for as long as the key is kept. */
  readonly idempotencyKey: string | null
  /** One member of the metadata, whose value as text is exactly this. */
  readonly metadata: MetadataMember | null
}

export interface MetadataMember {
  readonly key: string
  readonly value: string
}

/** Which of its records a tenant looks for. */
export type SoughtRecords =
  /** Those of a payer or recipient with one of these keyed hashes, and of a recipient's account; for as long as the hashes are kept. */
  | { readonly _tag: "party" | "account"; readonly hashes: ReadonlyArray<Uint8Array> }
  /** The one whose receipt has this number (`receiptIdentity`). */
  | { readonly _tag: "receipt"; readonly identity: string }
  /** Those whose metadata has all of these members; one at least. */
  | { readonly _tag: "metadata"; readonly members: ReadonlyArray<MetadataMember> }
  /** Those whose metadata has this value, under one of the names that the tenant's newest records have. */
  | { readonly _tag: "value"; readonly value: string }
  /** The one that a request with this idempotency key began; for as long as the key is kept. */
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
  /** Of the amount, as the tenant asked for it. */
  readonly currency: Currency | null
  /** As the tenant asked, in minor units; both included. */
  readonly amountFrom: bigint | null
  readonly amountTo: bigint | null
  /** How the payer's or the recipient's number ends: its last four characters. */
  readonly partyEnd: string | null
  readonly needsReview: boolean
  /** Only what is open, and whose provider did not answer or does not know it. */
  readonly isUnknown: boolean
  /** Included. */
  readonly createdFrom: Instant | null
  /** Not included. */
  readonly createdTo: Instant | null
}

export interface FoundRecords {
  readonly items: ReadonlyArray<Transaction>
  /** Older records may exist, and were not looked at: what was created before. Null where nothing older fits the filter. */
  readonly olderThan: Instant | null
}

/**
 * By which moment of its records a list is ordered: what was created or completed last comes first, and what was changed last comes last,
 * where a client goes on. The few records of a key are in the order of creation.
 */
export type ListOrder = "created" | "completed" | "updated"
export const orderOf = ({ completed, idempotencyKey, updatedFrom }: TransactionFilter): ListOrder =>
  idempotencyKey !== null ? "created" : updatedFrom !== null ? "updated" : completed !== null ? "completed" : "created"

/** Where a page of a list ended: the moment of its order, and the reference. */
export interface ListPosition {
  readonly at: Instant
  readonly id: string
}

/** A page to read: at most `limit`, those after `from`; null begins the list. */
export interface ListPage {
  readonly limit: number
  readonly from: ListPosition | null
}

export interface TransactionPage<R extends Transaction = Payment> {
  readonly items: ReadonlyArray<R>
  /** Null at the end of the list. */
  readonly next: ListPosition | null
}

/** Whose records, and of which mode. */
export interface RecordOwner {
  readonly appId: AppId
  readonly mode: Mode
}

/**
 * Reads of payouts, collections and exchanges; only `FloatLedger` writes them. A tenant's read finds its own records of its own mode and
 * nothing else. `claimDue` is the queue of outcome polling: at least once, one node at a time under a lease, the longest due first.
 */
export class Transactions extends Context.Service<
  Transactions,
  {
    /** The tenant's own record; none for an absent one, a foreign one or one of the other mode alike. */
    readonly find: (appId: AppId, mode: Mode, reference: Reference) => Effect.Effect<Option.Option<StoredTransaction>>
    /**
     * The tenant's own payouts and collections in the order of the filter (`orderOf`): at most `limit`, those after `from`. A page may hold fewer, or
     * none, and still say where the next one begins: one call looks at a bounded number of places. Every record that was committed before
     * the walk began is on exactly one page of it, and one that changes meanwhile is where its change is. A record that cannot be read is logged
     * and left out. Of one tenant one page is read at a time and few wait: a further one is refused, and nothing was read for it.
     */
    readonly list: (owner: RecordOwner, filter: TransactionFilter, page: ListPage) => Effect.Effect<TransactionPage, RateLimited>
    /** As `list`, of the tenant's exchanges. */
    readonly exchanges: (
      owner: RecordOwner,
      filter: TransactionFilter,
      page: ListPage
    ) => Effect.Effect<TransactionPage<Exchange>, RateLimited>
    /** As `list`, of those that are sought. */
    readonly sought: (owner: RecordOwner, sought: SoughtRecords, page: ListPage) => Effect.Effect<TransactionPage, RateLimited>
    /** The tenant's own collection with what its refund is decided by, as of one moment; none for everything else. */
    readonly refundable: (appId: AppId, mode: Mode, reference: Reference) => Effect.Effect<Option.Option<RefundableCollection>>
    /** The sum of its refunds, for each of the tenant's collections that has one, as `RefundableCollection` counts it. */
    readonly refunded: (
      owner: RecordOwner,
      references: ReadonlyArray<Reference>
    ) => Effect.Effect<ReadonlyMap<Reference, MinorUnits>>
    /** Whosever it is: for Settlement, the reconciler and operators. */
    readonly byReference: (reference: Reference) => Effect.Effect<Option.Option<StoredTransaction>>
    /** As `byReference`, for an operator; the read and its audit row are one commit. None leaves no row. */
    readonly audited: (reference: Reference, audit: AuditEntry) => Effect.Effect<Option.Option<StoredTransaction>>
    /**
     * Any tenant's records, exchanges among them, the newest first: at most `limit`, those after `from`. It looks back for a bounded time, and
     * says how far it came: a page may hold fewer, or none, and still say where the next one begins. A record that cannot be read is logged and
     * left out. One search runs at a time and few wait: a further one is refused.
     */
    readonly search: (filter: RecordFilter, page: ListPage) => Effect.Effect<TransactionPage<Transaction>, RateLimited>
    /**
     * As `sought`, of all tenants, for an operator, and by several terms at once: of those created before `before`, at most `limit` of each term and
     * step over tenants. A `value`, which takes longest, is looked for where the other terms find nothing. It looks for a bounded time; `isWhole`:
     * every tenant was looked at. Null where the storage has no way to do it. It takes turns with `search`.
     */
    readonly soughtEverywhere: (
      terms: ReadonlyArray<SoughtRecords>,
      page: { readonly mode: Mode | null; readonly before: Instant | null; readonly limit: number }
    ) => Effect.Effect<(FoundRecords & { readonly isWhole: boolean }) | null, RateLimited>
    /** Writes down that an operator searches; every search by a word has its row before it is made. */
    readonly noteSearch: (audit: AuditEntry) => Effect.Effect<void>
    /** When the provider is polled about it next; none where it is not polled any more. */
    readonly nextPoll: (reference: Reference) => Effect.Effect<Option.Option<Instant>>
    /**
     * By the provider's own handle, for callbacks and lists that carry only that: all that it names, the oldest first. A provider may
     * number payouts and collections apart, and each of its accounts may number anew, so that the caller gives the one that it means.
     */
    readonly byProviderReference: (
      provider: string,
      mode: Mode,
      providerReference: string
    ) => Effect.Effect<ReadonlyArray<StoredTransaction>>
    /** In the order in which it happened; empty when there is no such transaction. */
    readonly history: (reference: Reference) => Effect.Effect<ReadonlyArray<HistoryLine>>
    /** The postings of the record, in their order; empty where no money moved. */
    readonly entries: (reference: Reference) => Effect.Effect<ReadonlyArray<PostedEntry>>
    /**
     * The records that were begun at one provider in `from <= created < to`, in that order; at most `limit`, those after the record
     * `after`.
     */
    readonly createdBetween: (
      span: CreatedRange,
      after: Transaction | null,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Transaction>>
    /**
     * Claims up to `limit` transactions that are due to be polled, for `leaseMs`; no other node gets them meanwhile. A record that
     * cannot be read is logged and left out.
     */
    readonly claimDue: (now: Instant, limit: number, leaseMs: number) => Effect.Effect<ReadonlyArray<StoredTransaction>>
    /**
     * Gives back one that was claimed and could not be asked about: it is claimed again at `at`, in its old place, and nothing else of it changes. One that
     * was written meanwhile stays as it is.
     */
    readonly putBack: (record: Transaction, at: Instant) => Effect.Effect<void>
    /** At most `limit` records that need a person, the oldest first. A record that cannot be read is logged and left out. */
    readonly inReview: (limit: number) => Effect.Effect<ReadonlyArray<StoredTransaction>>
    /** Any tenant's payout or collection of that mode with the last money call, masked; the read and its audit row are one commit. None leaves no row. */
    readonly raw: (mode: Mode, reference: Reference, audit: AuditEntry) => Effect.Effect<Option.Option<RawTransaction>>
    /** The last request and response of any record, masked; the read and its audit row are one commit. None leaves no row. */
    readonly lastCall: (reference: Reference, audit: AuditEntry) => Effect.Effect<Option.Option<RawCall>>
  }
>()("gateway/services/ports/Transactions") {}
