import { Context, type Effect, type Option } from "effect"
import type { Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { AuditEntry } from "./AuditLog.ts"

/** The time that alerts rest, in hours: the usual number, and the most that an operator may give. */
export const ACKNOWLEDGED_HOURS = { usual: 24, most: 72 } as const
const HOUR_MS = 3_600_000

/** When alerts that rest from now on speak up again. */
export const restingUntil = (now: Instant, hours: number): Instant => now + hours * HOUR_MS

/** Whether the transaction was in review when an operator acknowledged it, and until when its alerts rest. */
export interface Acknowledgement {
  readonly inReview: boolean
  readonly until: Instant
}

/** Alerts that operators have seen and are looking after. Nothing about the transaction changes, and it goes on being polled. */
export class Acknowledgements extends Context.Service<
  Acknowledgements,
  {
    /**
     * Its alerts rest until then, or until it goes into review or out of it. Once more sets another time. None, and no audit row, where the
     * reference has nothing open.
     */
    readonly acknowledge: (
      reference: Reference,
      until: Instant,
      audit: AuditEntry
    ) => Effect.Effect<Option.Option<Acknowledgement>>
    /** The one under which its alerts rest at that time; none where they do not. */
    readonly standing: (reference: Reference, at: Instant) => Effect.Effect<Option.Option<Acknowledgement>>
  }
>()("gateway/services/ports/Acknowledgements") {}
