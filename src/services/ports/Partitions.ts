import { Context, type Effect } from "effect"
import type { Instant } from "../../domain/Instant.ts"

/**
 * The outcome for one partition. Busy: its lock was held, and the gateway did not wait for it. Crowded: too many rows of that month lie in
 * the default partition, or too many rows have to stay; the partition stays as it is.
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
     * Removes one month of events, with their arrived deliveries, that ended before `before`. The rows of a delivery that is due or parked
     * stay. Nothing where there is no such month.
     */
    readonly retire: (before: Instant) => Effect.Effect<ReadonlyArray<PartitionChange>>
  }
>()("gateway/services/ports/Partitions") {}
