import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type Instant, iso } from "../../domain/Instant.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { Partitions } from "../../services/ports/Partitions.ts"
import { advisoryLocks } from "../connection/AdvisoryLocks.ts"
import { Distribution } from "../connection/Distribution.ts"
import { rowsOf } from "../connection/Rows.ts"

/** A month with more due or parked deliveries is left to the bounded deletes, because these rows are held in memory. */
const STAYING_AT_MOST = 5_000

const upkeeps = rowsOf(
  Schema.Struct({ partition: Schema.String, outcome: Schema.Literals(["made", "emptied", "dropped", "busy", "crowded"]) })
)
const spans = rowsOf(Schema.Struct({ parent: Schema.String, month: Schema.String }))

/**
 * Partitions on PostgreSQL. It owns the monthly partitions of journal, events, deliveries and delivery_attempts. An advisory
 * lock, tried without waiting, lets one node change them at a time. The functions that do it, and what they lock, are in
 * functions/months.sql.
 */
export const PartitionsPg = layerOf(Partitions)(function* () {
  const sql = yield* SqlClient.SqlClient
  const { isDistributed } = yield* Distribution
  // On Citus, months are emptied by the bounded deletes alone, and only dropped here.
  const stayingAtMost = isDistributed ? null : STAYING_AT_MOST

  const missing = (now: Instant) =>
    spans(sql`
      SELECT p.parent, to_char(m.month, 'YYYY-MM-DD') AS month
      FROM (VALUES ('journal'), ('events'), ('deliveries'), ('delivery_attempts')) AS p(parent)
      CROSS JOIN LATERAL (SELECT date_trunc('month', ${iso(now)}::timestamptz AT TIME ZONE 'UTC') + ahead * interval '1 month' AS month
        FROM generate_series(0, 1) AS ahead) m
      WHERE NOT EXISTS (SELECT FROM month_partitions t WHERE t.parent = p.parent
        AND t.from_at <= m.month AT TIME ZONE 'UTC' AND t.to_at > m.month AT TIME ZONE 'UTC')
      ORDER BY m.month, p.parent`)

  const prepare = Effect.fn("Partitions.prepare")(function* (now: Instant) {
    const made = yield* Effect.forEach(yield* missing(now), ({ month, parent }) =>
      upkeeps(sql`
        SELECT ${parent} || to_char(${month}::date, '"_"YYYYMM') AS partition,
          CASE WHEN pg_try_advisory_xact_lock(${advisoryLocks.partitions}) THEN make_month(${parent}, ${month}::timestamp AT TIME ZONE 'UTC')
          ELSE 'busy' END AS outcome`)
    )
    return made.flat()
  })

  const retire = Effect.fn("Partitions.retire")((before: Instant) =>
    upkeeps(sql`
      SELECT r.month AS partition, r.outcome
      FROM (SELECT pg_try_advisory_xact_lock(${advisoryLocks.partitions}) AS ours) l
      CROSS JOIN LATERAL retire_month(${iso(before)}::timestamptz, ${stayingAtMost}::int) r WHERE l.ours`)
  )

  return { prepare, retire }
})
