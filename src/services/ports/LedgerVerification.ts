import { Context, type Effect } from "effect"
import type { Instant } from "../../domain/Instant.ts"
import { MessageError } from "../../runtime/MessageError.ts"

/** One discrepancy: which rule failed, for which subject, and what was found. */
export interface LedgerDifference {
  readonly rule: string
  readonly subject: string
  readonly found: string
  /** The subject is a table, or one of its indexes, whose file is damaged: the rule could not read everything. */
  readonly unread?: true
}

export interface LedgerReport {
  readonly ok: boolean
  /** How many rows each rule checked, by the rule's name. */
  readonly checked: Readonly<Record<string, number>>
  /** At most a thousand per rule. */
  readonly differences: ReadonlyArray<LedgerDifference>
}

/** The progress of a verification. `records`: how many existed when it began; `seen`: how many it has checked. */
export interface VerificationProgress {
  readonly startedAt: Instant
  readonly records: number
  readonly seen: number
  /** Where it continues, for display; null once it is complete. */
  readonly next: string | null
}

export interface VerificationBounds {
  /** Whether to resume the last stopped verification; not one that is complete or of another version of the program. */
  readonly goesOn: boolean
  /** Stop after the step during which this time passes; null runs to the end of the ledger. */
  readonly until: Instant | null
  /** Called after each step. */
  readonly onStep: (progress: VerificationProgress) => Effect.Effect<void>
}

/** A verification's progress. `since`: earlier changes were checked before. `seen`: the records, adjustments and names so far. */
export interface ChangesProgress {
  readonly since: Instant
  readonly seen: number
  /** The time up to which changes have been checked; null once it is complete. */
  readonly reached: Instant | null
}

export interface ChangesBounds {
  /** Check changes since then; null continues from the last complete verification, full or of changes. */
  readonly since: Instant | null
  /** Called after each step. */
  readonly onStep: (progress: ChangesProgress) => Effect.Effect<void>
}

/** Changes alone cannot be verified, because there is no earlier verification to build on. */
export class ChangesNotVerifiable extends MessageError("ChangesNotVerifiable") {}

/**
 * Verifies the ledger: recomputes positions, entries and limits from the postings and reports every difference as data. It
 * works in steps, each over one rule or a range of records in a snapshot of its own, while the gateway keeps working.
 * Everything that existed at the start is checked; of what is added later, only a part.
 */
export class LedgerVerification extends Context.Service<
  LedgerVerification,
  {
    /** Verifies everything. Writes nothing. */
    readonly verify: Effect.Effect<LedgerReport>
    /** Stores progress and findings after each step, for a later call to resume; a step without a stored result is repeated. */
    readonly verifyWithin: (bounds: VerificationBounds) => Effect.Effect<LedgerReport & VerificationProgress>
    /**
     * Applies every rule, but only to what changed: the duration depends on the number of changes, not on the size of the
     * ledger. Damage to rows that were not written since is found only by a full verification. A run that was stopped without
     * findings is resumed; findings are reported again until they are repaired.
     */
    readonly verifyChanged: (
      bounds: ChangesBounds
    ) => Effect.Effect<
      Pick<LedgerReport, "ok" | "differences"> & ChangesProgress & { readonly startedAt: Instant },
      ChangesNotVerifiable
    >
  }
>()("gateway/services/ports/LedgerVerification") {}
