import { Context, type Effect, Schema } from "effect"
import { Direction } from "../../domain/Corridor.ts"
import { Mode } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import { type RouteOutcome, RouteResult } from "../../domain/RouteResult.ts"

/** How many payments had this result at this provider, over all processes. */
export const RouteCount = Schema.Struct({
  mode: Mode,
  direction: Direction,
  /** As "UG/UGX/momo". */
  corridor: Schema.String,
  /** Empty when there is none. */
  network: Schema.String,
  provider: Schema.String,
  result: RouteResult,
  /** The upper bound of their duration, one of `TIME_BOUNDS_MS`; 0 for a sending. */
  withinMs: Schema.Number,
  count: Schema.Number
})
export type RouteCount = typeof RouteCount.Type

/** The buckets of durations: a payment counts under the first bound that it did not exceed, or under the last one. */
export const TIME_BOUNDS_MS = [
  500, 1_000, 2_000, 3_000, 5_000, 8_000, 13_000, 20_000, 30_000, 60_000, 120_000, 300_000, 900_000, 3_600_000, 21_600_000,
  86_400_000
] as const

/**
 * Results of payments at each provider, counted in periods of `PERIOD_MS` as in `PeriodCounts`: in memory until written, each
 * process its own totals. They decide only the order of providers.
 */
export class RouteCounts extends Context.Service<
  RouteCounts,
  {
    readonly add: (mode: Mode, outcome: RouteOutcome) => Effect.Effect<void>
    /** Writes the counts since the last write. When the database fails this is a defect, and the counts stay in memory. */
    readonly write: Effect.Effect<void>
    /** The counts of the periods that began since `from`, summed. */
    readonly since: (from: Instant) => Effect.Effect<ReadonlyArray<RouteCount>>
    /** Removes at most `limit` counts of periods that began before `before`. Returns the number removed. */
    readonly prune: (before: Instant, limit: number) => Effect.Effect<number>
  }
>()("gateway/services/ports/RouteCounts") {}
