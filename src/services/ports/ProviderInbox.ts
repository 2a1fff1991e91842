import { Context, type Effect, type Option, Schema } from "effect"
import type { Reported } from "../../domain/CallbackReport.ts"
import type { Mode, Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { AuditEntry } from "./AuditLog.ts"
import type { PageAfter } from "./Page.ts"

/** The record that a verified callback names. The callback's content is never trusted: the provider is polled for the outcome. */
export interface CallbackHint {
  readonly reference: Reference | null
  readonly providerReference: string | null
  /** The outcome that the callback reports; absent when it uses a word that the gateway does not know. */
  readonly says?: Reported
  /** The callback has the answer to a query of ours that waits for it. It names no record and is not stored. */
  readonly isAnswer?: true
}

export interface Callback {
  /** Derived from provider, mode and digest, so that the same callback maps to the same row. */
  readonly id: Reference
  readonly provider: string
  readonly mode: Mode
  readonly receivedAt: Instant
  /** SHA-256 of the bytes. */
  readonly digest: Uint8Array
  readonly hint: CallbackHint
}

/** How often a callback was processed since it arrived, arrived again or was replayed. */
export interface Tries {
  /** Completed attempts that changed nothing. */
  readonly looks: number
  /** Claims since the last completed attempt, or since the beginning: a node died, or could not process it. */
  readonly claims: number
}

/** A callback that one node processes until `leasedUntil`. When it was claimed, this claim is counted. */
export interface LeasedCallback extends Callback, Tries {
  readonly leasedUntil: Instant
}

/** When to process a callback next, and the counts by then. `at` null parks it for an operator. */
export interface NextLook extends Tries {
  readonly at: Instant | null
}

/** Due: to be processed. Done: its transaction was polled. Parked: it led to no transaction, and waits for an operator. */
export const CallbackStatus = Schema.Literals(["due", "done", "parked"])
export type CallbackStatus = typeof CallbackStatus.Type

export interface StoredCallback extends Callback {
  readonly status: CallbackStatus
  readonly nextLookAt: Instant | null
  readonly looks: number
  /** The transaction that was polled because of it. */
  readonly matched: Reference | null
}

/** Null for no filter. */
export interface CallbackFilter {
  readonly status: CallbackStatus | null
  readonly provider: string | null
  readonly mode: Mode | null
  /** Inclusive. */
  readonly receivedFrom: Instant | null
  /** Exclusive. */
  readonly receivedTo: Instant | null
}

/** Where a page of the list ended. */
export interface CallbackPlace {
  readonly at: Instant
  readonly id: string
}

/**
 * The inbox of providers' callbacks. A callback is committed here before the provider gets a response, once for the same bytes.
 *
 * Delivery: at least once. A callback that was claimed, or stored with a lease, belongs to one node until the lease ends;
 * without `markProcessed` or `retryAt` it is then due again. Oldest first, without a guaranteed order. Attempts and claims are
 * counted in commits that are made anyway; the caller decides by them when to park a callback. A callback is never dropped.
 */
export class ProviderInbox extends Context.Service<
  ProviderInbox,
  {
    /**
     * False when the same bytes arrived a moment ago. Bytes that arrived longer ago may be about a later change, because a body
     * that holds only references is the same each time: they become due again as a new callback, at most once in that interval.
     * The callback is due at `dueAt`; a caller that processes it at once passes the end of its lease, which saves a second
     * commit. `body`: the text, masked and bounded, kept until the callback is done.
     */
    readonly store: (callback: Callback, dueAt: Instant, body?: string) => Effect.Effect<boolean>
    /** Claims up to `limit` due callbacks for `leaseMs`, and counts the claim. */
    readonly claimDue: (now: Instant, limit: number, leaseMs: number) => Effect.Effect<ReadonlyArray<LeasedCallback>>
    /**
     * The callback was processed for this transaction. Does nothing when another worker has the lease by now. It is written
     * with the next callback that is stored, or after two seconds. If the process dies first, it is processed again.
     */
    readonly markProcessed: (callback: LeasedCallback, reference: Reference) => Effect.Effect<void>
    /** The callback has led to nothing: it is retried or parked, unless another worker has the lease. Idempotent. */
    readonly retryAt: (callback: LeasedCallback, next: NextLook) => Effect.Effect<void>
    /** Newest first, at most `limit`; `status` null: every status. */
    readonly list: (status: CallbackStatus | null, limit: number) => Effect.Effect<ReadonlyArray<StoredCallback>>
    /** As `list`, filtered, after a place. A page examines a bounded number: fewer items may come while `next` is set. */
    readonly search: (
      filter: CallbackFilter,
      page: PageAfter<CallbackPlace>
    ) => Effect.Effect<{ readonly items: ReadonlyArray<StoredCallback>; readonly next: CallbackPlace | null }>
    /** The callback's masked text; null when it is no longer stored. None, and no audit row, when there is no such callback. */
    readonly body: (id: Reference, audit: AuditEntry) => Effect.Effect<Option.Option<string | null>>
    /** Makes the callback due at `at` as if new, whatever its result was, and returns it. None when there is none. */
    readonly replay: (id: Reference, at: Instant, audit: AuditEntry) => Effect.Effect<Option.Option<StoredCallback>>
    /** Ends a parked callback that an operator found to be irrelevant. None when it does not exist or is not parked. */
    readonly close: (id: Reference, audit: AuditEntry) => Effect.Effect<Option.Option<StoredCallback>>
    /** The parked callbacks of one account that arrived before `before`, ordered by id; at most `limit`, after the given id. */
    readonly parked: (
      account: Pick<Callback, "provider" | "mode">,
      before: Instant,
      page: PageAfter<Reference>
    ) => Effect.Effect<ReadonlyArray<StoredCallback>>
    /** Closes many in one commit, with one audit row that holds their number. Returns how many of them were still parked. */
    readonly closeAll: (ids: ReadonlyArray<Reference>, audit: AuditEntry) => Effect.Effect<number>
    /**
     * Removes at most `limit` done callbacks that arrived before `before`, and returns how many. The same bytes then count as a
     * new callback.
     */
    readonly prune: (before: Instant, limit: number) => Effect.Effect<number>
  }
>()("gateway/services/ports/ProviderInbox") {}
