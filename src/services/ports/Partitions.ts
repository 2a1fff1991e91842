import { Context, type Effect } from "effect"
import type { Instant } from "../../domain/Instant.ts"

/**
 * The result for one partition. Busy: its lock was held, and the gateway did not wait. Crowded: too many rows of that month are
 * in the default partition, or too many rows must be kept; the partition is unchanged.
 */
export interface PartitionChange {
  readonly partition: string
  readonly outcome: "made" | "emptied" | "dropped" | "busy" | "crowded"
}

/**
 * Monthly partitions of the tables that only grow. Both methods are idempotent, may run on several nodes at once and never
 * block a write: a locked partition is busy and retried at the next run. A row without a partition goes to the default one.
 */
export class Partitions extends Context.Service<
  Partitions,
  {
    /** Creates the missing partitions for the month of `now` and the next one. */
    readonly prepare: (now: Instant) => Effect.Effect<ReadonlyArray<PartitionChange>>
    /**
     * Removes one month of events that ended before `before`, with their delivered deliveries. The rows of a due or parked
     * delivery are kept. Does nothing when there is no such month.
     */
    readonly retire: (before: Instant) => Effect.Effect<ReadonlyArray<PartitionChange>>
  }
>()("gateway/services/ports/Partitions") {}
