import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { iso } from "../../domain/Instant.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import {
  CallbackCount,
  type Counted,
  PeriodCount,
  PeriodCounts,
  WALLET_TOO_SMALL,
  WalletRefusals
} from "../../services/ports/PeriodCounts.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import { makePeriodTallies } from "./PeriodTallies.ts"

const periodCounts = rowsOf(Schema.Struct({ ...PeriodCount.fields, at: Moment }))
const callbackCounts = rowsOf(CallbackCount)
const walletRefusals = rowsOf(WalletRefusals)

/** PeriodCounts on PostgreSQL. It owns period_counts. */
export const PeriodCountsPg = layerOf(PeriodCounts)(function* () {
  const sql = yield* SqlClient.SqlClient
  const { add, prune, write } = yield* makePeriodTallies<Counted>(sql, "period_counts", {
    what: { type: "text", of: ({ what }) => what },
    mode: { type: "text", of: ({ mode }) => mode },
    provider: { type: "text", of: ({ provider }) => provider },
    corridor: { type: "text", of: ({ corridor }) => corridor },
    outcome: { type: "text", of: ({ outcome }) => outcome },
    failure: { type: "text", of: ({ failure }) => failure }
  })

  return {
    add,
    write,
    prune: Effect.fn("PeriodCounts.prune")(prune),

    ended: Effect.fn("PeriodCounts.ended")((mode, from, stepMs) =>
      periodCounts(sql`
        SELECT date_bin(${stepMs}::bigint * interval '1 millisecond', period_start, timestamptz 'epoch') AS at, what, mode, provider, corridor,
          outcome, failure, sum(count)::int AS count
        FROM period_counts WHERE period_start >= ${iso(from)}::timestamptz AND what <> 'callback' AND mode = ${mode}
        GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 4, 5, 6, 7`)
    ),

    callbacks: Effect.fn("PeriodCounts.callbacks")((from) =>
      callbackCounts(sql`
        SELECT provider, mode, outcome, sum(count)::int AS count FROM period_counts
        WHERE period_start >= ${iso(from)}::timestamptz AND what = 'callback' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`)
    ),

    walletRefusals: Effect.fn("PeriodCounts.walletRefusals")((from) =>
      walletRefusals(sql`
        SELECT provider, mode, sum(count)::int AS count FROM period_counts
        WHERE period_start >= ${iso(from)}::timestamptz AND failure = ${WALLET_TOO_SMALL} GROUP BY 1, 2 ORDER BY 1, 2`)
    )
  }
})
