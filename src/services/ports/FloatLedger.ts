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

/** One line of a transaction's history: who brought which news, and what it changed. */
export interface HistoryLine {
  readonly at: Instant
  readonly actor: Actor
  /** The fact's name, or "Opened". */
  readonly fact: string
  readonly note: string
  /** The status after it. */
  readonly status: string
  /** The calls to providers that were made for it, since the line before; absent where none was timed, as in lines of earlier releases. */
  readonly calls?: ReadonlyArray<CallTime>
}

/** Everything that opening a transaction commits at once. */
export interface OpenStep {
  readonly claim: Claim
  readonly transaction: Transaction
  /** The reservation of a payout or an exchange; null for a collection, which moves nothing yet. */
  readonly entry: Entry | null
  readonly line: HistoryLine
  readonly event: OutboxEvent | null
  readonly nextPollAt: Instant
  /** The recipient, sealed by the Vault, kept until the payout is terminal; null for a collection. */
  /** The previous release keeps the sealed recipient of an open payout here, and the database wipes it. This release keeps none. */
  readonly sealedDestination: Uint8Array | null
  /** The recipient of a payout, masked; kept as a beneficiary once the provider accepts. */
  readonly beneficiary: Beneficiary | null
  /** The windows that it is counted in, in the order of their refusals. */
  readonly counters: ReadonlyArray<WindowUse>
  /** The keyed HMAC of the payer's or recipient's number. */
  readonly partyHash: Uint8Array | null
  /** The keyed HMAC of the recipient's account without its bank; absent where there is no account. */
  readonly accountHash?: Uint8Array
  /** Where a payer's number is charged: the charge that the guard found last for it. It must still be the last one. */
  readonly payer?: { readonly holder: Reference | null }
}

export type OpenOutcome =
  | { readonly _tag: "Opened" }
  /** Another claimant has the key by now, or a transaction is linked to it: nothing was written. */
  | { readonly _tag: "ClaimLost" }
  /** The tenant was frozen meanwhile. */
  | { readonly _tag: "Frozen" }
  /** Another charge of the payer's number was placed meanwhile. */
  | { readonly _tag: "PayerBusy" }
  /** The window at this place of the step's `counters` is full. */
  | { readonly _tag: "OverCap"; readonly counter: number }
  /** The float cannot hold it; `available` is what there was when it was refused. */
  | { readonly _tag: "ShortFloat"; readonly available: MinorUnits }

/** Everything that one fact about one transaction commits at once. */
export interface ApplyStep {
  /** The version and status counters that `next` was decided against: the step applies to exactly that row or not at all. */
  readonly expectedRevision: bigint
  /** The record of that revision, as it was read or opened. */
  readonly before: Transaction
  readonly next: Transaction
  readonly entry: Entry | null
  readonly line: HistoryLine
  readonly event: OutboxEvent | null
  readonly nextPollAt: Instant | null
  /** Stored for the claim when this fact answers the request. */
  readonly response: { readonly claim: Claim; readonly response: StoredResponse } | null
  /** True once the provider has accepted or paid a payout: its recipient becomes a beneficiary. */
  readonly savesBeneficiary: boolean
  /** True for a payout that fails: its count returns to the windows that it was counted in. */
  readonly restoreLimits: boolean
  /** For a payout that had failed and was paid after all, in `resolve` alone: it counts in its windows again, whatever their bounds. */
  readonly countsAgain?: boolean
  /** True once terminal: the sealed destination is overwritten. */
  readonly wipeDestination: boolean
  /** The call to the provider that brought this fact; null keeps the one before. */
  readonly raw: CapturedCall | null
  /** The provider refused because our wallet there does not hold enough. It is counted, and not stored. */
  readonly walletTooSmall?: true
}

export type ApplyOutcome =
  | { readonly _tag: "Applied" }
  | { readonly _tag: "Stale" }
  /** A position would hold more than the largest amount: nothing was written. */
  | { readonly _tag: "FullFloat" }

/** An operator's correction of a float, known by its external id. */
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
  /** Posted now, or, where it is not new, earlier by the same external id with the same parameters. `position` is as it was right after the posting. */
  | { readonly _tag: "Adjusted"; readonly position: FloatPosition; readonly isNew: boolean }
  /** The external id was used for something else. */
  | { readonly _tag: "Conflict" }
  /** The external id is the reference of a transaction of the tenant, which books itself: nothing was written. */
  | { readonly _tag: "OfRecord" }
  | { readonly _tag: "ShortFloat"; readonly available: MinorUnits }
  /** A position would hold more than the largest amount: nothing was written. */
  | { readonly _tag: "FullFloat" }
  | { readonly _tag: "NoTenant" }

/**
 * Float reservations and every other movement of money; no other port commits any. A step commits as a whole or writes nothing and says why.
 *
 * Concurrency: a step locks the positions that it changes, so that no two reservations draw on the same float. `open` is guarded by the
 * fence of the idempotency claim and `apply` by the record's revision (optimistic locking): a second step with the same guard is refused.
 *
 * Failure: refusals are results, not errors. When the connection breaks during a commit, what became of the step is read before it is
 * answered. A defect says nothing about the step: `open` again with the same claim, or read the record and decide again.
 */
export class FloatLedger extends Context.Service<
  FloatLedger,
  {
    /** Commits record, reservation, key link, history and event, or writes nothing and says why. The same claim a second time is ClaimLost. */
    readonly open: (step: OpenStep) => Effect.Effect<OpenOutcome>
    /** Commits the next record, its entry, event, answer and wipe, or nothing when the row moved on (Stale: decide again). */
    readonly apply: (step: ApplyStep) => Effect.Effect<ApplyOutcome>
    /**
     * Commits a person's resolution and its audit row, as `apply` does. The part of its entry that `available` cannot cover becomes the
     * tenant's receivable. A credit covers the receivable first. A correction is posted as the next one of its record.
     * With `countsAgain` the record counts once more in those of its windows that may not have ended, in the same commit.
     */
    readonly resolve: (step: ApplyStep, audit: AuditEntry) => Effect.Effect<ApplyOutcome>
    /** Posts a credit or a debit once per external id; a credit covers the tenant's receivable first. */
    readonly adjust: (adjustment: Adjustment) => Effect.Effect<AdjustmentOutcome>
    /** One position per currency held, `available` being what a payout may draw from (a receivable is taken off), ordered by currency; empty when the tenant holds none. */
    readonly positions: (appId: AppId, mode: Mode) => Effect.Effect<ReadonlyArray<FloatPosition>>
  }
>()("gateway/services/ports/FloatLedger") {}
