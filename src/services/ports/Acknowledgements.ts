import { Context, type Effect, type Option } from "effect"
import type { Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { AuditEntry } from "./AuditLog.ts"

/** For how many hours an acknowledgement silences alerts: the default, and the most that an operator may choose. */
export const ACKNOWLEDGED_HOURS = { usual: 24, most: 72 } as const
const HOUR_MS = 3_600_000

/** The end of an acknowledgement that begins now. */
export const restingUntil = (now: Instant, hours: number): Instant => now + hours * HOUR_MS

/** `inReview`: whether the transaction was in review when an operator acknowledged it. Its alerts are silent until `until`. */
export interface Acknowledgement {
  readonly inReview: boolean
  readonly until: Instant
}

/** Alerts that operators are working on. An acknowledgement does not change the transaction, which is still polled. */
export class Acknowledgements extends Context.Service<
  Acknowledgements,
  {
    /**
     * Silences the transaction's alerts until `until`, or until it enters or leaves review. A repeated call sets a new end.
     * Returns none, and writes no audit row, when no open transaction has this reference.
     */
    readonly acknowledge: (
      reference: Reference,
      until: Instant,
      audit: AuditEntry
    ) => Effect.Effect<Option.Option<Acknowledgement>>
    /** The acknowledgement in force at that time; none when alerts are not silenced. */
    readonly standing: (reference: Reference, at: Instant) => Effect.Effect<Option.Option<Acknowledgement>>
  }
>()("gateway/services/ports/Acknowledgements") {}
