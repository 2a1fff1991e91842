import { Clock, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type Instant, iso, isoOrNull } from "../../domain/Instant.ts"
import { reviewedAt } from "../../domain/PollSchedule.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { COUNTED_AT_MOST } from "../../services/ports/GatewayStatus.ts"
import {
  type UnsettledFilter,
  type UnsettledPlace,
  UnsettledSum,
  UnsettledTransaction,
  UnsettledWork
} from "../../services/ports/UnsettledWork.ts"
import { EveryTenant } from "../cluster/EveryTenant.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import type { TenantFilter } from "../connection/TenantFilter.ts"
import { NoteAlone } from "../transactions/StoredNote.ts"
import { summed } from "./StatusTotals.ts"

/** A transaction that has been open this long is overdue. */
const OVERDUE = "24 hours"

const { askedUntil: _, ...stored } = UnsettledTransaction.fields
const rows = rowsOf(
  Schema.Struct({
    ...stored,
    createdAt: Moment,
    heardAt: Moment,
    note: NoteAlone,
    acknowledgedUntil: Schema.NullOr(Moment),
    payableUntil: Schema.NullOr(Schema.Number)
  })
)
const sums = rowsOf(UnsettledSum)

/** UnsettledWork on PostgreSQL. It reads open_work, and the last line of each row's history. */
export const UnsettledWorkPg = layerOf(UnsettledWork)(function* () {
  const sql = yield* SqlClient.SqlClient
  const everyTenant = yield* EveryTenant

  const fitting = (filter: UnsettledFilter, after: UnsettledPlace | null, now: Instant, of: TenantFilter) => {
    const { amountFrom, amountTo, appId, corridor, createdBefore, createdFrom, currency, kind, mode, provider, state } = filter
    const ofCorridor = (part: "country" | "currency" | "method") =>
      sql`AND (${corridor?.[part] ?? null}::text IS NULL OR well_formed(t.record) -> 'corridor' ->> ${part} = ${corridor?.[part] ?? null})`
    const amount = sql.literal("(well_formed(t.record) ->> 'amount')::numeric")
    const amountCurrency = sql.literal(
      "coalesce(well_formed(t.record) ->> 'amountCurrency', well_formed(t.record) ->> 'currency')"
    )
    return sql`
        WITH o AS MATERIALIZED (
          SELECT t.app_id, t.reference, t.kind, t.mode, t.provider, t.created_at, w.needs_review,
            ${amount}::bigint AS amount, ${amountCurrency} AS amount_currency, well_formed(t.record) ->> 'currency' AS currency,
            (well_formed(t.record) ->> 'payableUntil')::float8 AS payable_until,
            CASE WHEN w.acknowledged_in_review = w.needs_review THEN w.acknowledged_until END AS rests_until
          FROM open_work w JOIN transactions t ON t.app_id = w.app_id AND t.reference = w.reference
          WHERE (w.is_open OR w.needs_review) ${of("w.app_id")} ${of("t.app_id")}
            AND (${after === null ? null : iso(after.createdAt)}::timestamptz IS NULL
              OR (w.created_at, w.reference) > (${iso(after?.createdAt ?? 0)}::timestamptz, ${after?.reference ?? ""}))
            AND w.created_at < ${iso(createdBefore ?? now + 1)}::timestamptz
            AND (${isoOrNull(createdFrom)}::timestamptz IS NULL OR w.created_at >= ${iso(createdFrom ?? 0)}::timestamptz)
            AND (${state === "review"} = false OR w.needs_review)
            ${ofCorridor("country")} ${ofCorridor("currency")} ${ofCorridor("method")}
            AND (${appId}::text IS NULL OR w.app_id = ${appId})
            AND (${provider}::text IS NULL OR t.provider = ${provider})
            AND (${kind}::text IS NULL OR t.kind = ${kind})
            AND (${mode}::text IS NULL OR t.mode = ${mode})
            AND (${currency}::text IS NULL OR ${amountCurrency} = ${currency})
            AND (${amountFrom === null ? null : amountFrom.toString()}::numeric IS NULL OR ${amount} >= ${(amountFrom ?? 0n).toString()}::numeric)
            AND (${amountTo === null ? null : amountTo.toString()}::numeric IS NULL OR ${amount} <= ${(amountTo ?? 0n).toString()}::numeric)
          ORDER BY w.created_at, w.reference LIMIT ${COUNTED_AT_MOST}
        ),
        unsettled AS (
          SELECT o.reference, o.app_id AS "appId", o.kind, o.mode, o.provider, o.amount, o.amount_currency AS "amountCurrency", o.currency,
            o.created_at AS "createdAt", l.at AS "heardAt", l.note, o.rests_until AS "acknowledgedUntil",
            o.payable_until AS "payableUntil",
            CASE WHEN o.needs_review THEN 'review' WHEN l.fact IN ('Unknown', 'NotFound') THEN 'unknown'
              WHEN o.created_at <= ${iso(now)}::timestamptz - ${OVERDUE}::interval THEN 'overdue' END AS state
          FROM o CROSS JOIN LATERAL (
            SELECT h.fact, h.at, h.note FROM transaction_history h
            -- There is no event of a transaction before it is there; a day is for clocks that differ. Older partitions are not looked into.
            WHERE h.app_id = o.app_id AND h.reference = o.reference AND h.at >= o.created_at - interval '1 day' ${of("h.app_id")}
            ORDER BY h.line DESC LIMIT 1) l
        ),
        found AS (SELECT * FROM unsettled WHERE state = coalesce(${state}, state))`
  }

  const list: UnsettledWork["Service"]["list"] = Effect.fn("UnsettledWork.list")(function* (filter, after, limit) {
    const now = yield* Clock.currentTimeMillis
    const { rows: found } = yield* everyTenant.sweep((of) =>
      rows(sql`${fitting(filter, after, now, of)} SELECT * FROM found ORDER BY "createdAt", reference LIMIT ${limit}`)
    )
    return found.map(unsettledOf).toSorted(inOrder).slice(0, limit)
  }, Effect.orDie)

  const count = Effect.fn("UnsettledWork.count")(function* (filter: UnsettledFilter) {
    const now = yield* Clock.currentTimeMillis
    const { rows: found } = yield* everyTenant.sweep((of) =>
      sums(sql`${fitting(filter, null, now, of)}
          SELECT "amountCurrency" AS currency, count(*)::int AS count, sum(amount)::bigint AS amount FROM found GROUP BY 1 ORDER BY 1`)
    )
    return summed(
      found,
      ({ currency }) => currency,
      (one, other) => ({ ...one, count: one.count + other.count, amount: one.amount + other.amount })
    )
  }, Effect.orDie)

  return { list, count }
})

const unsettledOf = <Row extends { readonly createdAt: Instant; readonly payableUntil: Instant | null }>({
  payableUntil,
  ...row
}: Row) => ({ ...row, askedUntil: reviewedAt({ createdAt: row.createdAt, payableUntil }) })

const inOrder = (one: UnsettledTransaction, other: UnsettledTransaction): number =>
  one.createdAt - other.createdAt || (one.reference < other.reference ? -1 : 1)
