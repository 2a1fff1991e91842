import { Clock, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { type Instant, iso } from "../../domain/Instant.ts"
import { PERIOD_MS } from "../../services/ports/PeriodCounts.ts"
import { type Column, columnsOf } from "../connection/Columns.ts"
import { type Swept, sweptIn } from "../vault/Retention.ts"

/** One row of this process. `written` is the part of its count that has been written. */
interface Tally<Counted> {
  readonly counted: Counted
  readonly periodStart: Instant
  count: number
  written: number
}

/**
 * A table of counts by period. Each row belongs to one process, which writes its total there, so that nodes never wait for each
 * other's rows and a repeated write changes nothing. The last counts are written when the process ends, even a command's.
 * `columns` distinguish the counts.
 */
export const makePeriodTallies = Effect.fnUntraced(function* <Counted>(
  sql: SqlClient.SqlClient,
  table: "period_counts" | "route_counts",
  columns: Readonly<Record<string, Column<Counted>>>
) {
  const process = crypto.randomUUID()
  const tallies = new Map<string, Tally<Counted>>()
  const own = Object.entries(columns)
  const rows = columnsOf<Tally<Counted>>({
    period_start: { type: "timestamptz", of: ({ periodStart }) => periodStart },
    ...Object.fromEntries(own.map(([name, { of, type }]) => [name, { type, of: ({ counted }: Tally<Counted>) => of(counted) }])),
    count: { type: "int", of: ({ count }) => count }
  })
  const key = ["period_start", ...Object.keys(columns)].join(", ")
  const insert = `INSERT INTO ${table} (${key}, process, count)
    SELECT ${key}, $${rows.names.length + 1}::uuid, count FROM ${rows.rows("u", rows.names)}
    ON CONFLICT (${key}, process) DO UPDATE SET count = greatest(${table}.count, EXCLUDED.count)`

  const add = Effect.fnUntraced(function* (counted: Counted) {
    const periodStart = Math.floor((yield* Clock.currentTimeMillis) / PERIOD_MS) * PERIOD_MS
    const name = [periodStart, ...own.map(([, { of }]) => of(counted))].join(" ")
    const known = tallies.get(name)
    if (known === undefined) tallies.set(name, { counted, periodStart, count: 1, written: 0 })
    else known.count++
  })

  const write = Effect.gen(function* () {
    const due = [...tallies.values()].filter(({ count, written }) => count > written).map((tally) => ({ ...tally, tally }))
    if (due.length > 0) yield* sql.unsafe(insert, [...rows.arrays(due), process])
    // Others may have been counted during the write.
    for (const { count, tally } of due) tally.written = count
    const current = (yield* Clock.currentTimeMillis) - PERIOD_MS
    for (const [name, { count, periodStart, written }] of tallies)
      if (periodStart <= current && count === written) tallies.delete(name)
  }).pipe(Effect.orDie)

  yield* Effect.addFinalizer(() =>
    Effect.catchCause(write, (cause) => Effect.logWarning("the last counts of this process could not be written", cause))
  )

  const prune = Effect.fnUntraced(function* (before: Instant, limit: number) {
    const rows = yield* sql<Swept>`
      WITH old AS MATERIALIZED (
        SELECT ctid FROM ${sql.literal(table)} WHERE period_start < ${iso(before)}::timestamptz ORDER BY period_start LIMIT ${limit} FOR UPDATE SKIP LOCKED
      ),
      removed AS (DELETE FROM ${sql.literal(table)} p USING old o WHERE p.ctid = o.ctid RETURNING 1)
      SELECT count(*)::int AS swept FROM removed`
    return sweptIn(rows)
  }, Effect.orDie)

  return { add, write, prune }
})
