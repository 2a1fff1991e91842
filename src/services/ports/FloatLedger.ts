import { Context, type Effect } from "effect"
import type { Beneficiary } from "../../domain/Beneficiary.ts"
import type { CallTime } from "../../domain/CallTimes.ts"
import type { Currency } from "../../domain/Currency.ts"
import type { OutboxEvent } from "../../domain/Event.ts"
import type { Actor } from "../../domain/Fact.ts"
import type { AppId, Mode, Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Entry, FloatPosition } from "../../domain/Ledger.ts"
import type { MinorUnits } from "../../domain/Money.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import type { WindowUse } from "../../domain/VelocityLimits.ts"
import type { CapturedCall } from "../../runtime/CapturedCall.ts"
import type { AuditEntry } from "./AuditLog.ts"
import type { Claim, StoredResponse } from "./Idempotency.ts"

/** One line of a transaction's history: who reported which fact, and what it changed. */
export interface HistoryLine {
  readonly at: Instant
  readonly actor: Actor
  /** The fact's name, or "Opened". */
  readonly fact: string
  readonly note: string
  /** The status after the fact. */
  readonly status: string
  /**
   * The calls to providers made for the transaction since the previous line; absent when none was timed, and in lines of
   * earlier releases.
   */
  readonly calls?: ReadonlyArray<CallTime>
}

/** Everything that opening a transaction commits together. */
export interface OpenStep {
  readonly claim: Claim
  readonly transaction: Transaction
  /** The reservation of a payout or an exchange; null for a collection, which moves no money yet. */
  readonly entry: Entry | null
  readonly line: HistoryLine
  readonly event: OutboxEvent | null
  readonly nextPollAt: Instant
  /**
   * Always null in this release. The previous release keeps the sealed recipient of an open payout here, and the database wipes
   * it.
   */
  /** The previous release keeps the sealed recipient of an open payout here, and the database wipes it. This release keeps none. */
  readonly sealedDestination: Uint8Array | null
  /** A payout's recipient, masked. It is stored as a beneficiary once the provider accepts the payout. */
  readonly beneficiary: Beneficiary | null
  /** The windows in which the transaction counts, in the order in which they refuse. */
  readonly counters: ReadonlyArray<WindowUse>
  /** The keyed HMAC of the payer's or recipient's number. */
  readonly partyHash: Uint8Array | null
  /** The keyed HMAC of the recipient's account number without its bank; absent when there is no account. */
  readonly accountHash?: Uint8Array
  /** For a charge: the last one that the guard found for the payer's number. Refused when another has been placed since. */
  readonly payer?: { readonly holder: Reference | null }
}

export type OpenOutcome =
  | { readonly _tag: "Opened" }
  /** The claim is no longer valid: another request has claimed the key, or a transaction is linked to it. Nothing was written. */
  | { readonly _tag: "ClaimLost" }
  /** The tenant was frozen in the meantime. */
  | { readonly _tag: "Frozen" }
  /** Another charge of the payer's number was placed in the meantime. */
  | { readonly _tag: "PayerBusy" }
  /** The window at this index of the step's `counters` is full. */
  | { readonly _tag: "OverCap"; readonly counter: number }
  /** The float is too small; `available` is the balance at the time of the refusal. */
  | { readonly _tag: "ShortFloat"; readonly available: MinorUnits }

/** Everything that one fact about one transaction commits together. */
export interface ApplyStep {
  /** The revision on which `next` is based. The step applies to exactly that revision or not at all. */
  readonly expectedRevision: bigint
  /** The record at that revision, as it was read or opened. */
  readonly before: Transaction
  readonly next: Transaction
  readonly entry: Entry | null
  readonly line: HistoryLine
  readonly event: OutboxEvent | null
  readonly nextPollAt: Instant | null
  /** The response to store for the claim, when this fact answers the request. */
  readonly response: { readonly claim: Claim; readonly response: StoredResponse } | null
  /** True once the provider has accepted or paid a payout: its recipient is stored as a beneficiary. */
  readonly savesBeneficiary: boolean
  /** True for a payout that fails: it no longer counts in its windows. */
  readonly restoreLimits: boolean
  /** For a failed payout that was paid after all (`resolve`): it counts in its windows again, even beyond their limits. */
  readonly countsAgain?: boolean
  /** True once the transaction is terminal: the sealed destination is overwritten. */
  readonly wipeDestination: boolean
  /** The provider call that reported this fact; null keeps the stored one. */
  readonly raw: CapturedCall | null
  /** The provider refused because our wallet there holds too little. This is counted, not stored. */
  readonly walletTooSmall?: true
}

export type ApplyOutcome =
  | { readonly _tag: "Applied" }
  | { readonly _tag: "Stale" }
  /** A position would exceed the largest amount: nothing was written. */
  | { readonly _tag: "FullFloat" }

/** An operator's credit or debit of a float, identified by its external id. */
export interface Adjustment {
  readonly appId: AppId
  readonly mode: Mode
  readonly currency: Currency
  readonly direction: "credit" | "debit"
  readonly amount: MinorUnits
  readonly externalId: string
  readonly note: string
  readonly at: Instant
  readonly entry: Entry
  readonly audit: AuditEntry
}

export type AdjustmentOutcome =
  /** Posted now, or (`isNew` false) earlier, by the same external id and parameters. `position`: right after the posting. */
  | { readonly _tag: "Adjusted"; readonly position: FloatPosition; readonly isNew: boolean }
  /** The external id was used with other parameters. */
  | { readonly _tag: "Conflict" }
  /** The external id is the reference of one of the tenant's transactions, which the gateway books: nothing was written. */
  | { readonly _tag: "OfRecord" }
  | { readonly _tag: "ShortFloat"; readonly available: MinorUnits }
  /** A position would exceed the largest amount: nothing was written. */
  | { readonly _tag: "FullFloat" }
  | { readonly _tag: "NoTenant" }

/**
 * Float reservations and all other movements of money; no other port commits any. A step commits as a whole, or writes nothing
 * and returns why.
 *
 * Concurrency: a step locks the positions that it changes, so that two reservations never use the same money. `open` is guarded
 * by the fence of the idempotency claim, `apply` by the record's revision (optimistic locking): a second step with the same
 * guard is refused.
 *
 * Failure: refusals are results, not errors. When the connection breaks during a commit, the step's outcome is looked up before
 * the call returns. After a defect the outcome is unknown: call `open` again with the same claim, or read the record and decide
 * again.
 */
export class FloatLedger extends Context.Service<
  FloatLedger,
  {
    /** Commits record, reservation, key link, history and event. A second call with the same claim returns ClaimLost. */
    readonly open: (step: OpenStep) => Effect.Effect<OpenOutcome>
    /**
     * Commits the next record, its entry, event, response and wipe. Returns Stale, having written nothing, when the record has
     * another revision: read it and decide again.
     */
    readonly apply: (step: ApplyStep) => Effect.Effect<ApplyOutcome>
    /**
     * Commits an operator's resolution and its audit row, as `apply` does. The part of its entry that `available` cannot
     * cover becomes the tenant's receivable; a credit is first set off against the receivable. A correction is posted as the
     * record's next one. With `countsAgain` the record counts once more in those of its windows that may still be open, in the
     * same commit.
     */
    readonly resolve: (step: ApplyStep, audit: AuditEntry) => Effect.Effect<ApplyOutcome>
    /** Posts a credit or a debit, once per external id. A credit is first set off against the tenant's receivable. */
    readonly adjust: (adjustment: Adjustment) => Effect.Effect<AdjustmentOutcome>
    /**
     * One position per currency, ordered by currency; empty when the tenant has none. `available` is what a payout may use: the
     * receivable is already subtracted.
     */
    readonly positions: (appId: AppId, mode: Mode) => Effect.Effect<ReadonlyArray<FloatPosition>>
  }
>()("gateway/services/ports/FloatLedger") {}
