import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { iso } from "../../domain/Instant.ts"
import { RouteResult } from "../../domain/RouteResult.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { RouteCount, RouteCounts, TIME_BOUNDS_MS } from "../../services/ports/RouteCounts.ts"
import { rowsOf } from "../connection/Rows.ts"
import { makePeriodTallies } from "./PeriodTallies.ts"

const routeCounts = rowsOf(RouteCount)

/** RouteCounts on PostgreSQL. It owns route_counts. */
export const RouteCountsPg = layerOf(RouteCounts)(function* () {
  const sql = yield* SqlClient.SqlClient
  const { add, prune, write } = yield* makePeriodTallies<Omit<RouteCount, "count">>(sql, "route_counts", {
    mode: { type: "text", of: ({ mode }) => mode },
    direction: { type: "text", of: ({ direction }) => direction },
    corridor: { type: "text", of: ({ corridor }) => corridor },
    network: { type: "text", of: ({ network }) => network },
    provider: { type: "text", of: ({ provider }) => provider },
    result: { type: "text", of: ({ result }) => result },
    within_ms: { type: "int", of: ({ withinMs }) => withinMs }
  })

  return {
    add: (mode, { tookMs, ...outcome }) => add({ ...outcome, mode, withinMs: tookMs === null ? 0 : boundOf(tookMs) }),
    write,
    prune: Effect.fn("RouteCounts.prune")(prune),

    since: Effect.fn("RouteCounts.since")((from) =>
      routeCounts(sql`
        SELECT mode, direction, corridor, network, provider, result, within_ms AS "withinMs", sum(count)::int AS count
        FROM route_counts WHERE period_start >= ${iso(from)}::timestamptz AND result = ANY (${RouteResult.literals}::text[])
        GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7`)
    )
  }
})

const LAST_BOUND = TIME_BOUNDS_MS[TIME_BOUNDS_MS.length - 1] ?? 0

const boundOf = (tookMs: number): number => TIME_BOUNDS_MS.find((bound) => tookMs <= bound) ?? LAST_BOUND
