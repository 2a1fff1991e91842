import { Context, Effect, type Option } from "effect"
import type { ClockLeap } from "../../domain/ClockLeaps.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { AuditEntry } from "./AuditLog.ts"

/** Why the removal of old rows is stopped, and since when by the clock in doubt. Both are null when there is no doubt. */
export interface ClockState {
  readonly doubt: string | null
  readonly doubtedAt: Instant | null
  /** The latest time that a gateway has trusted; null before the first check. */
  readonly trustedUntil: Instant | null
}

/** The largest difference between the database's clock and the time that an operator confirms as the right one. */
export const TYPED_WITHIN_MS = 120_000

/**
 * Decides whether the database's clock may be trusted to remove rows by age. A doubt on any node stops removal on all nodes
 * until an operator confirms the clock: a late removal costs disk space, an early one may cost money.
 */
export class ClockWatch extends Context.Service<
  ClockWatch,
  {
    /**
     * Call this before each removal. Returns the database's time, which may be used to compute ages; none while the clock is in
     * doubt. A new doubt is stored for all nodes. A time that was returned stays trusted, whatever the clock does.
     */
    readonly look: Effect.Effect<Option.Option<Instant>>
    /** Both clocks and the stored state. Makes no judgement. */
    readonly standing: Effect.Effect<ClockState & { readonly database: Instant; readonly machine: Instant }>
    /**
     * Ends a doubt: the database's clock is right now. Returns false, and writes no audit row, when there is no doubt or when
     * that clock is more than `TYPED_WITHIN_MS` from `rightTime`.
     */
    readonly confirm: (rightTime: Instant, audit: AuditEntry) => Effect.Effect<boolean>
  }
>()("gateway/services/ports/ClockWatch") {}

/** The clock's state as this process knows it, without a query, read with the time itself: no new time is used without it. */
export const ClockTrust = Context.Reference<{
  /** For a removal inside other work whose statement cannot call `look`: rows younger than this time are not old. */
  readonly trustedUntil: Effect.Effect<Instant>
  /** Nonces that expired before this time may have been removed. */
  readonly noncesUntil: Effect.Effect<Instant>
  /** Intervals in which this process's time outran real time, or may have, because no gateway was watching. */
  readonly leaps: Effect.Effect<ReadonlyArray<ClockLeap>>
  /** When this process started. It does not know earlier leaps that an operator has confirmed since. */
  readonly begunAt: Instant
}>("gateway/services/ports/ClockTrust", {
  defaultValue: () => ({
    trustedUntil: Effect.succeed(Number.POSITIVE_INFINITY),
    noncesUntil: Effect.succeed(Number.NEGATIVE_INFINITY),
    leaps: Effect.succeed([]),
    begunAt: Number.NEGATIVE_INFINITY
  })
})
