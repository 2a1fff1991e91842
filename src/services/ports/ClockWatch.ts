import { Context, Effect, type Option } from "effect"
import type { ClockLeap } from "../../domain/ClockLeaps.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { AuditEntry } from "./AuditLog.ts"

/** Why nothing is removed, and since when, by the clock that is doubted. */
export interface ClockState {
  readonly doubt: string | null
  readonly doubtedAt: Instant | null
  /** The newest time that a gateway has believed; null before the first look. */
  readonly trustedUntil: Instant | null
}

/** The right time as a person typed it may be so old when it is compared. */
export const TYPED_WITHIN_MS = 120_000

/**
 * Whether the database's clock may be trusted for the removal of rows by age. One doubt, of any node, stops all nodes until an operator
 * confirms the clock: a removal that is late costs disk, and one that is early may cost money.
 */
export class ClockWatch extends Context.Service<
  ClockWatch,
  {
    /**
     * To be asked before each removal: the database's time, by which age may be reckoned; none while there is doubt. A doubt that arises with this look is
     * kept for all nodes. Whatever the clock does afterwards, the time that was answered stays believed.
     */
    readonly look: Effect.Effect<Option.Option<Instant>>
    /** Both clocks and what is known of them. Judges nothing. */
    readonly standing: Effect.Effect<ClockState & { readonly database: Instant; readonly machine: Instant }>
    /**
     * Ends a doubt: what the database's clock shows now is the right time. False, and no audit row, where there is no doubt, or where that clock is
     * further than `TYPED_WITHIN_MS` from `rightTime`.
     */
    readonly confirm: (rightTime: Instant, audit: AuditEntry) => Effect.Effect<boolean>
  }
>()("gateway/services/ports/ClockWatch") {}

/** The watch as this process knows it, without a query: read together with the time itself, so that no new time comes without it. */
export const ClockTrust = Context.Reference<{
  /** For a removal beside other work, whose own statement may not ask: nothing younger than that time is old. */
  readonly trustedUntil: Effect.Effect<Instant>
  /** Nonces that ended by then may have been removed. */
  readonly noncesUntil: Effect.Effect<Instant>
  /** Where the time that this process reads went forward further than time did, or may have: while no gateway watched it. */
  readonly leaps: Effect.Effect<ReadonlyArray<ClockLeap>>
  /** When this process began: of a leap before it that an operator has confirmed since, it knows nothing. */
  readonly begunAt: Instant
}>("gateway/services/ports/ClockTrust", {
  defaultValue: () => ({
    trustedUntil: Effect.succeed(Number.POSITIVE_INFINITY),
    noncesUntil: Effect.succeed(Number.NEGATIVE_INFINITY),
    leaps: Effect.succeed([]),
    begunAt: Number.NEGATIVE_INFINITY
  })
})
