import { Context, type Effect } from "effect"
import type { Instant } from "../../domain/Instant.ts"

/**
 * What became of one partition. Busy: somebody held what it needed, and nobody was kept waiting. Crowded: too many rows of that month lie
 * where no month was made for them, or too much of it has to stay; it goes on as it is.
 */
export interface PartitionChange {
  readonly partition: string
  readonly outcome: "made" | "emptied" | "dropped" | "busy" | "crowded"
}

/**
 * Monthly partitions of the tables that only grow. Both methods are idempotent, may run on every node at once and never block a write: what is
 * locked is reported as busy and done another time. A row for which there is no partition goes to the default one.
 */
export class Partitions extends Context.Service<
  Partitions,
  {
    /** Makes what is missing for the month of `now` and for the one after it; nothing where both are there. */
    readonly prepare: (now: Instant) => Effect.Effect<ReadonlyArray<PartitionChange>>
    /**
     * Takes away one month of events, with what arrived of it, that ended before `before`. What belongs to a delivery that is due or parked
     * stays. Nothing where there is no such month.
     */
    readonly retire: (before: Instant) => Effect.Effect<ReadonlyArray<PartitionChange>>
  }
>()("gateway/services/ports/Partitions") {}
