import { Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type Instant, iso } from "../../domain/Instant.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import {
  type FoundReconciliation,
  KeptDifference,
  ReconciliationResult,
  Reconciliations
} from "../../services/ports/Reconciliations.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import { type Swept, sweptIn } from "../vault/Retention.ts"

const results = rowsOf(Schema.Struct({ ...ReconciliationResult.fields, at: Moment }))
const whole = rowsOf(Schema.Struct({ ...ReconciliationResult.fields, at: Moment, found: Schema.Array(KeptDifference) }))

/** Reconciliations on PostgreSQL. It owns the table, which has one row per provider and day. */
export const ReconciliationsPg = layerOf(Reconciliations)(function* () {
  const sql = yield* SqlClient.SqlClient

  const keep = Effect.fn("Reconciliations.keep")(
    ({ at, day, differences, explained, found, ours, provider, theirs, unreadable }: FoundReconciliation) =>
      sql`
        INSERT INTO reconciliations (provider, day, at, ours, theirs, unreadable, differences, explained, listed)
        VALUES (${provider}, ${day}, ${iso(at)}::timestamptz, ${ours}, ${theirs}, ${unreadable}, ${differences}, ${explained},
          ${JSON.stringify(found)}::json)
        ON CONFLICT (provider, day) DO UPDATE SET (at, ours, theirs, unreadable, differences, explained, listed) =
          (EXCLUDED.at, EXCLUDED.ours, EXCLUDED.theirs, EXCLUDED.unreadable, EXCLUDED.differences, EXCLUDED.explained, EXCLUDED.listed)
        WHERE reconciliations.at <= EXCLUDED.at`.pipe(Effect.asVoid, Effect.orDie)
  )

  const list = Effect.fn("Reconciliations.list")((limit: number) =>
    results(sql`SELECT provider, day, at, ours, theirs, unreadable, differences, explained FROM reconciliations
      ORDER BY day DESC, provider LIMIT ${limit}`)
  )

  const find = Effect.fn("Reconciliations.find")((provider: string, day: string) =>
    Effect.map(
      whole(sql`SELECT provider, day, at, ours, theirs, unreadable, differences, explained, listed AS found FROM reconciliations
        WHERE provider = ${provider} AND day = ${day}`),
      ([row]) => Option.fromUndefinedOr(row)
    )
  )

  // The whole table has a few hundred rows, which no index would find faster.
  const prune = Effect.fn("Reconciliations.prune")(function* (before: Instant, limit: number) {
    const rows = yield* sql<Swept>`
      WITH old AS MATERIALIZED (
        SELECT provider, day FROM reconciliations WHERE at < ${iso(before)}::timestamptz ORDER BY at LIMIT ${limit} FOR UPDATE SKIP LOCKED
      ),
      gone AS (DELETE FROM reconciliations r USING old o WHERE r.provider = o.provider AND r.day = o.day RETURNING 1)
      SELECT count(*)::int AS swept FROM gone`
    return sweptIn(rows)
  }, Effect.orDie)

  return { keep, list, find, prune }
})
