import { Clock, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Mode } from "../../domain/Ids.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import { type RouteOutcome, RouteResult } from "../../domain/RouteResult.ts"
import { PERIOD_MS } from "../../services/ports/PeriodCounts.ts"
import { RouteCount, RouteCounts, TIME_BOUNDS_MS } from "../../services/ports/RouteCounts.ts"
import { rowsOf } from "../connection/Rows.ts"

const routeCounts = rowsOf(RouteCount)
const sweptCounts = rowsOf(Schema.Struct({ swept: Schema.Number }))

/** One row of this process. */
interface Tally extends Omit<RouteCount, "count"> {
  readonly periodStart: Instant
  count: number
  /** Of these, as many as were written. */
  written: number
}

/**
 * RouteCounts on PostgreSQL. It owns route_counts, whose rows belong to one process each, as those of period_counts do: nodes never wait for each other's
 * rows, and a repeated write changes nothing. The last counts are written when the process ends.
 */
export const RouteCountsPg = Layer.effect(
  RouteCounts,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const process = crypto.randomUUID()
    const tallies = new Map<string, Tally>()

    const add = Effect.fnUntraced(function* (mode: Mode, { tookMs, ...outcome }: RouteOutcome) {
      const periodStart = Math.floor((yield* Clock.currentTimeMillis) / PERIOD_MS) * PERIOD_MS
      const withinMs = tookMs === null ? 0 : boundOf(tookMs)
      const { corridor, direction, network, provider, result } = outcome
      const name = [periodStart, mode, direction, corridor, network, provider, result, withinMs].join(" ")
      const known = tallies.get(name)
      if (known === undefined) tallies.set(name, { ...outcome, mode, withinMs, periodStart, count: 1, written: 0 })
      else known.count++
    })

    const write = Effect.gen(function* () {
      const due = [...tallies.values()].filter(({ count, written }) => count > written).map((tally) => ({ ...tally, tally }))
      const column = (of: (row: Tally) => string | number) => due.map(of)
      if (due.length > 0)
        yield* sql`
          INSERT INTO route_counts (period_start, mode, direction, corridor, network, provider, result, within_ms, process, count)
          SELECT u.period_start, u.mode, u.direction, u.corridor, u.network, u.provider, u.result, u.within_ms, ${process}::uuid, u.count
          FROM unnest(${column(({ periodStart }) => iso(periodStart))}::timestamptz[], ${column(({ mode }) => mode)}::text[],
            ${column(({ direction }) => direction)}::text[], ${column(({ corridor }) => corridor)}::text[], ${column(({ network }) => network)}::text[],
            ${column(({ provider }) => provider)}::text[], ${column(({ result }) => result)}::text[], ${column(({ withinMs }) => withinMs)}::int[],
            ${column(({ count }) => count)}::int[])
            AS u(period_start, mode, direction, corridor, network, provider, result, within_ms, count)
          ON CONFLICT (period_start, mode, direction, corridor, network, provider, result, within_ms, process) DO UPDATE
            SET count = greatest(route_counts.count, EXCLUDED.count)`
      // Others may have been counted while these were written.
      for (const { count, tally } of due) tally.written = count
      const current = (yield* Clock.currentTimeMillis) - PERIOD_MS
      for (const [name, { count, periodStart, written }] of tallies)
        if (periodStart <= current && count === written) tallies.delete(name)
    }).pipe(Effect.orDie)

    yield* Effect.addFinalizer(() =>
      Effect.catchCause(write, (cause) => Effect.logWarning("the last counts of this process could not be written", cause))
    )

    const since = Effect.fn("RouteCounts.since")((from: Instant) =>
      routeCounts(sql`
        SELECT mode, direction, corridor, network, provider, result, within_ms AS "withinMs", sum(count)::int AS count
        FROM route_counts WHERE period_start >= ${iso(from)}::timestamptz AND result = ANY (${RouteResult.literals}::text[])
        GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7`)
    )

    const prune = Effect.fn("RouteCounts.prune")(function* (before: Instant, limit: number) {
      const [row] = yield* sweptCounts(sql`
        WITH old AS MATERIALIZED (
          SELECT ctid FROM route_counts WHERE period_start < ${iso(before)}::timestamptz ORDER BY period_start LIMIT ${limit} FOR UPDATE SKIP LOCKED
        ),
        removed AS (DELETE FROM route_counts r USING old o WHERE r.ctid = o.ctid RETURNING 1)
        SELECT count(*)::int AS swept FROM removed`)
      return row?.swept ?? 0
    })

    return RouteCounts.of({ add, write, since, prune })
  })
)

const LAST_BOUND = TIME_BOUNDS_MS[TIME_BOUNDS_MS.length - 1] ?? 0

const boundOf = (tookMs: number): number => TIME_BOUNDS_MS.find((bound) => tookMs <= bound) ?? LAST_BOUND
