import { Context, type Effect } from "effect"
import type { Instant } from "../../domain/Instant.ts"
import { MessageError } from "../../runtime/MessageError.ts"

/** One thing that does not add up: which rule, where, and what was found. */
export interface LedgerDifference {
  readonly rule: string
  readonly subject: string
  readonly found: string
  /** The subject is a table, or an index of it, whose file is damaged: the rule was not asked of all that is stored. */
  readonly unread?: true
}

export interface LedgerReport {
  readonly ok: boolean
  /** How many rows each rule looked at, by the rule's name. */
  readonly checked: Readonly<Record<string, number>>
  /** At most a thousand of each rule. */
  readonly differences: ReadonlyArray<LedgerDifference>
}

/** How far a verification is. `records` is how many there were when it began, `seen` how many of them it has looked at. */
export interface VerificationProgress {
  readonly startedAt: Instant
  readonly records: number
  readonly seen: number
  /** Where it goes on, for people; null once it is complete. */
  readonly next: string | null
}

export interface VerificationBounds {
  /** Whether it goes on where the last one was ended; if that was at its end, or made by another program, it begins anew. */
  readonly goesOn: boolean
  /** It ends after the step during which this moment passes; null is at the end of the ledger. */
  readonly until: Instant | null
  /** Called after each step. */
  readonly onStep: (progress: VerificationProgress) => Effect.Effect<void>
}

/** `since`: what changed before was checked. `seen`: how many records, adjustments and names it has looked at. */
export interface ChangesProgress {
  readonly since: Instant
  readonly seen: number
  /** Up to where it is; null once it is complete. */
  readonly reached: Instant | null
}

export interface ChangesBounds {
  /** Earlier changes are left out; null goes on from the last check that was complete, of all or of changes. */
  readonly since: Instant | null
  /** Called after each step. */
  readonly onStep: (progress: ChangesProgress) => Effect.Effect<void>
}

/** Changes alone cannot be checked: there is nothing that they could be held against. */
export class ChangesNotVerifiable extends MessageError("ChangesNotVerifiable") {}

/**
 * Verifies the ledger: recomputes positions, entries and limits from the postings and reports every difference as data. It goes in steps, a rule
 * that needs everything or some records at a time, each in a snapshot of its own; the gateway keeps working meanwhile. All
 * that was there when it began is checked; of what comes later, a part.
 */
export class LedgerVerification extends Context.Service<
  LedgerVerification,
  {
    /** All of it, and writes nothing. */
    readonly verify: Effect.Effect<LedgerReport>
    /**
     * Keeps after each step how far it is, and what it found, so that a later call goes on after one that was ended or killed. A step that was
     * not kept is made again.
     */
    readonly verifyWithin: (bounds: VerificationBounds) => Effect.Effect<LedgerReport & VerificationProgress>
    /**
     * Every rule, of what changed alone: it takes as long as there are changes, however much is stored. Damage to rows that were not written since is
     * found by the others. One that ended while it found nothing is gone on with; what it found is found again until it is mended.
     */
    readonly verifyChanged: (
      bounds: ChangesBounds
    ) => Effect.Effect<
      Pick<LedgerReport, "ok" | "differences"> & ChangesProgress & { readonly startedAt: Instant },
      ChangesNotVerifiable
    >
  }
>()("gateway/services/ports/LedgerVerification") {}
