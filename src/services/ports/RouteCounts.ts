import { Context, type Effect, Schema } from "effect"
import { Direction } from "../../domain/Corridor.ts"
import { Mode } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import { type RouteOutcome, RouteResult } from "../../domain/RouteResult.ts"

/** How many payments came to one result at one provider, of all processes. */
export const RouteCount = Schema.Struct({
  mode: Mode,
  direction: Direction,
  /** As "UG/UGX/momo". */
  corridor: Schema.String,
  /** Empty where there is none. */
  network: Schema.String,
  provider: Schema.String,
  result: RouteResult,
  /** They took no longer, of `TIME_BOUNDS_MS`; 0 for a sending. */
  withinMs: Schema.Number,
  count: Schema.Number
})
export type RouteCount = typeof RouteCount.Type

/** Payments are counted by the first of these times within which they ended; those that took longer than the last are counted with it. */
export const TIME_BOUNDS_MS = [
  500, 1_000, 2_000, 3_000, 5_000, 8_000, 13_000, 20_000, 30_000, 60_000, 120_000, 300_000, 900_000, 3_600_000, 21_600_000,
  86_400_000
] as const

/**
 * Results of payments at each provider, counted in periods of `PERIOD_MS` as `PeriodCounts` are: in memory until it is written, each process
 * its own counts whole. Only the order of providers is decided by them.
 */
export class RouteCounts extends Context.Service<
  RouteCounts,
  {
    readonly add: (mode: Mode, outcome: RouteOutcome) => Effect.Effect<void>
    /** Writes what was counted since the last time. A database that fails is a defect, and loses none. */
    readonly write: Effect.Effect<void>
    /** The counts of the periods that began from then on, summed. */
    readonly since: (from: Instant) => Effect.Effect<ReadonlyArray<RouteCount>>
    /** Removes at most `limit` of periods that began before `before`, and answers how many. */
    readonly prune: (before: Instant, limit: number) => Effect.Effect<number>
  }
>()("gateway/services/ports/RouteCounts") {}
