import { Context, type Effect } from "effect"

/** One thing that does not add up: which rule, where, and what was found. */
export interface LedgerDifference {
  readonly rule: string
  readonly subject: string
  readonly found: string
}

export interface LedgerReport {
  readonly ok: boolean
  /** How many rows each rule looked at, by the rule's name. */
  readonly checked: Readonly<Record<string, number>>
  /** At most a thousand of each rule. */
  readonly differences: ReadonlyArray<LedgerDifference>
}

/**
 * Verifies the ledger: recomputes positions, entries and limits from the postings and reports every difference as data. Reads one snapshot and
 * changes nothing; the gateway keeps working meanwhile.
 */
export class LedgerVerification extends Context.Service<
  LedgerVerification,
  {
    readonly verify: Effect.Effect<LedgerReport>
  }
>()("gateway/services/ports/LedgerVerification") {}
