import { Context, type Effect, type Option, Schema } from "effect"
import type { Reported } from "../../domain/CallbackReport.ts"
import type { Mode, Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { AuditEntry } from "./AuditLog.ts"
import type { PageAfter } from "./Page.ts"

/** The record that a verified callback names. A callback is never relied on: the provider is polled about it. */
export interface CallbackHint {
  readonly reference: Reference | null
  readonly providerReference: string | null
  /** The reported outcome; absent where the gateway knows no such word. */
  readonly says?: Reported
  /** It answers a question, which waits for it: it leads to no record, and is not stored here. */
  readonly isAnswer?: true
}

export interface Callback {
  /** Made of provider, mode and digest: the same callback again is the same row. */
  readonly id: Reference
  readonly provider: string
  readonly mode: Mode
  readonly receivedAt: Instant
  /** SHA-256 of the bytes. */
  readonly digest: Uint8Array
  readonly hint: CallbackHint
}

/** The tries of a callback since it came, came again or was replayed. */
export interface Tries {
  /** Attempts that ended and moved nothing. */
  readonly looks: number
  /** Claims since the last of these, or since the beginning, of which no look has ended: a node died, or could not look. */
  readonly claims: number
}

/** A callback that one node looks into until then; if it was claimed for that, this claim is counted. */
export interface LeasedCallback extends Callback, Tries {
  readonly leasedUntil: Instant
}

/** When a callback is looked into next, and what counts as tried by then; null parks it for a person. */
export interface NextLook extends Tries {
  readonly at: Instant | null
}

/** Due: it is processed by itself. Done: the transaction that it pointed at was polled. Parked: it led to nothing, and waits for a person. */
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
  /** Included. */
  readonly receivedFrom: Instant | null
  /** Not included. */
  readonly receivedTo: Instant | null
}

/** Where a page of the list ended. */
export interface CallbackPlace {
  readonly at: Instant
  readonly id: string
}

/**
 * The inbox of providers' callbacks. A callback is committed here before the provider gets its answer, once for the same bytes.
 *
 * Delivery: at least once. A claimed callback, or one that was stored with a lease, belongs to one node for its lease; unless `markProcessed`
 * or `retryAt` is called it is due again afterwards. Oldest first, without a guaranteed order. It counts looks and claims, in commits that are made anyway;
 * the caller decides by them when it is parked for a person. It is never dropped.
 */
export class ProviderInbox extends Context.Service<
  ProviderInbox,
  {
    /**
     * False when the same bytes came a moment ago. Bytes that came longer ago may be about a later change (a body of references only is the
     * same each time): they are due again, as if they had come for the first time, at most once in that while. They are due at `dueAt`: a
     * caller that processes them at once gives the end of its lease, which saves a second commit. `body` is its text, masked and bounded: it is
     * kept until the callback is done.
     */
    readonly store: (callback: Callback, dueAt: Instant, body?: string) => Effect.Effect<boolean>
    /** Takes up to `limit` that wait to be looked at, for `leaseMs`, and counts the claim. */
    readonly claimDue: (now: Instant, limit: number, leaseMs: number) => Effect.Effect<ReadonlyArray<LeasedCallback>>
    /**
     * The callback was processed for this transaction, unless another worker has its lease by now. It has no commit of its own: it is
     * written with the next callback that is stored, or two seconds later. When the process dies before that, the callback is processed
     * once more.
     */
    readonly markProcessed: (callback: LeasedCallback, reference: Reference) => Effect.Effect<void>
    /**
     * The callback led to nothing so far: it is processed again, or parked, unless another worker has its lease by now. A repetition
     * changes nothing.
     */
    readonly retryAt: (callback: LeasedCallback, next: NextLook) => Effect.Effect<void>
    /** Newest first, at most `limit`, of every status where none is given. */
    readonly list: (status: CallbackStatus | null, limit: number) => Effect.Effect<ReadonlyArray<StoredCallback>>
    /**
     * As `list`, of those that fit, after a place. A page looks at a bounded number of callbacks: it may hold fewer, or none, and still say where the
     * next one begins.
     */
    readonly search: (
      filter: CallbackFilter,
      page: PageAfter<CallbackPlace>
    ) => Effect.Effect<{ readonly items: ReadonlyArray<StoredCallback>; readonly next: CallbackPlace | null }>
    /** The text that it came with, masked, for a person; null where it is kept no more. None, and no audit row, when there is no such callback. */
    readonly body: (id: Reference, audit: AuditEntry) => Effect.Effect<Option.Option<string | null>>
    /** Has it looked into at `at` as if it had just come, whatever came of it before, and answers it as it stands then; none when there is no such callback. */
    readonly replay: (id: Reference, at: Instant, audit: AuditEntry) => Effect.Effect<Option.Option<StoredCallback>>
    /** Ends a parked one that a person found to be about nothing of ours; none when it is not there, or not parked. */
    readonly close: (id: Reference, audit: AuditEntry) => Effect.Effect<Option.Option<StoredCallback>>
    /** Parked ones of one account that came before `before`, in the order of their ids, at most `limit` after one of these. */
    readonly parked: (
      account: Pick<Callback, "provider" | "mode">,
      before: Instant,
      page: PageAfter<Reference>
    ) => Effect.Effect<ReadonlyArray<StoredCallback>>
    /** `close` of many in one commit, with one audit row that says how many it was; answers how many were parked still. */
    readonly closeAll: (ids: ReadonlyArray<Reference>, audit: AuditEntry) => Effect.Effect<number>
    /** Removes at most `limit` that came before `before` and are done, and answers how many. The same bytes are a new callback then. */
    readonly prune: (before: Instant, limit: number) => Effect.Effect<number>
  }
>()("gateway/services/ports/ProviderInbox") {}
