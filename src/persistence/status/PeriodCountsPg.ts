import { Clock, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Mode } from "../../domain/Ids.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import {
  CallbackCount,
  type Counted,
  PERIOD_MS,
  PeriodCount,
  PeriodCounts,
  WALLET_TOO_SMALL,
  WalletRefusals
} from "../../services/ports/PeriodCounts.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"

const periodCounts = rowsOf(Schema.Struct({ ...PeriodCount.fields, at: Moment }))
const callbackCounts = rowsOf(CallbackCount)
const walletRefusals = rowsOf(WalletRefusals)
const sweptCounts = rowsOf(Schema.Struct({ swept: Schema.Number }))

/** One row of this process. */
interface Tally extends Counted {
  readonly periodStart: Instant
  count: number
  /** Of these, as many as were written. */
  written: number
}

/**
 * PeriodCounts on PostgreSQL. It owns period_counts. A row belongs to one process, which puts its whole count there, so that nodes never wait for
 * each other's rows and a repeated write changes nothing. The last counts are written when the process ends, a command's, too.
 */
export const PeriodCountsPg = Layer.effect(
  PeriodCounts,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const process = crypto.randomUUID()
    const tallies = new Map<string, Tally>()

    const add = Effect.fnUntraced(function* (counted: Counted) {
      const periodStart = Math.floor((yield* Clock.currentTimeMillis) / PERIOD_MS) * PERIOD_MS
      const { corridor, failure, mode, outcome, provider, what } = counted
      const name = [periodStart, what, mode, provider, corridor, outcome, failure].join(" ")
      const known = tallies.get(name)
      if (known === undefined) tallies.set(name, { ...counted, periodStart, count: 1, written: 0 })
      else known.count++
    })

    const write = Effect.gen(function* () {
      const due = [...tallies.values()].filter(({ count, written }) => count > written).map((tally) => ({ ...tally, tally }))
      const column = (of: (row: Tally) => string | number) => due.map(of)
      if (due.length > 0)
        yield* sql`
          INSERT INTO period_counts (period_start, what, mode, provider, corridor, outcome, failure, process, count)
          SELECT u.period_start, u.what, u.mode, u.provider, u.corridor, u.outcome, u.failure, ${process}::uuid, u.count
          FROM unnest(${column(({ periodStart }) => iso(periodStart))}::timestamptz[], ${column(({ what }) => what)}::text[],
            ${column(({ mode }) => mode)}::text[], ${column(({ provider }) => provider)}::text[], ${column(({ corridor }) => corridor)}::text[],
            ${column(({ outcome }) => outcome)}::text[], ${column(({ failure }) => failure)}::text[], ${column(({ count }) => count)}::int[])
            AS u(period_start, what, mode, provider, corridor, outcome, failure, count)
          ON CONFLICT (period_start, what, mode, provider, corridor, outcome, failure, process) DO UPDATE
            SET count = greatest(period_counts.count, EXCLUDED.count)`
      // Others may have been counted while these were written.
      for (const { count, tally } of due) tally.written = count
      const current = (yield* Clock.currentTimeMillis) - PERIOD_MS
      for (const [name, { count, periodStart, written }] of tallies)
        if (periodStart <= current && count === written) tallies.delete(name)
    }).pipe(Effect.orDie)

    yield* Effect.addFinalizer(() =>
      Effect.catchCause(write, (cause) => Effect.logWarning("the last counts of this process could not be written", cause))
    )

    const ended = Effect.fn("PeriodCounts.ended")((mode: Mode, from: Instant, stepMs: number) =>
      periodCounts(sql`
        SELECT date_bin(${stepMs}::bigint * interval '1 millisecond', period_start, timestamptz 'epoch') AS at, what, mode, provider, corridor,
          outcome, failure, sum(count)::int AS count
        FROM period_counts WHERE period_start >= ${iso(from)}::timestamptz AND what <> 'callback' AND mode = ${mode}
        GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 4, 5, 6, 7`)
    )

    const callbacks = Effect.fn("PeriodCounts.callbacks")((from: Instant) =>
      callbackCounts(sql`
        SELECT provider, mode, outcome, sum(count)::int AS count FROM period_counts
        WHERE period_start >= ${iso(from)}::timestamptz AND what = 'callback' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`)
    )

    const refusedByWallets = Effect.fn("PeriodCounts.walletRefusals")((from: Instant) =>
      walletRefusals(sql`
        SELECT provider, mode, sum(count)::int AS count FROM period_counts
        WHERE period_start >= ${iso(from)}::timestamptz AND failure = ${WALLET_TOO_SMALL} GROUP BY 1, 2 ORDER BY 1, 2`)
    )

    const prune = Effect.fn("PeriodCounts.prune")(function* (before: Instant, limit: number) {
      const [row] = yield* sweptCounts(sql`
        WITH old AS MATERIALIZED (
          SELECT ctid FROM period_counts WHERE period_start < ${iso(before)}::timestamptz ORDER BY period_start LIMIT ${limit} FOR UPDATE SKIP LOCKED
        ),
        removed AS (DELETE FROM period_counts p USING old o WHERE p.ctid = o.ctid RETURNING 1)
        SELECT count(*)::int AS swept FROM removed`)
      return row?.swept ?? 0
    })

    return PeriodCounts.of({ add, write, ended, callbacks, walletRefusals: refusedByWallets, prune })
  })
)
