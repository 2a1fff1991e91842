import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { type Instant, iso } from "../../domain/Instant.ts"
import {
  AccountWork,
  type AgeBand,
  COUNTED_AT_MOST,
  OpenGroup,
  UnansweredTransaction
} from "../../services/ports/GatewayStatus.ts"
import type { EveryTenant } from "../cluster/EveryTenant.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import type { TenantFilter } from "../connection/TenantFilter.ts"
import { allAccounts, allOpen, allReviews } from "./StatusTotals.ts"

const MINUTE_MS = 60_000
const bands: ReadonlyArray<readonly [typeof AgeBand.Type, number]> = [
  ["1m", MINUTE_MS],
  ["10m", 10 * MINUTE_MS],
  ["1h", 60 * MINUTE_MS],
  ["24h", 24 * 60 * MINUTE_MS]
]

const groups = rowsOf(Schema.Struct({ ...OpenGroup.fields, oldestAt: Moment, oldestUnknownAt: Schema.NullOr(Moment) }))
const accountRows = rowsOf(AccountWork)
/** The end of a page of open_work, by its key. */
const PlaceInWork = Schema.Struct({ appId: Schema.String, reference: Schema.String })
type PlaceInWork = typeof PlaceInWork.Type
const placesInWork = rowsOf(PlaceInWork)
const counts = rowsOf(Schema.Struct({ count: Schema.Number, acknowledged: Schema.Number, oldestAt: Schema.NullOr(Moment) }))
const unansweredRows = rowsOf(
  Schema.Struct({
    ...UnansweredTransaction.fields,
    createdAt: Moment,
    heardAt: Moment,
    acknowledgedUntil: Schema.NullOr(Moment)
  })
)

/** The part of `GatewayStatusPg` that reads open_work: what is open, what needs a person, and of what nobody has heard. */
export const openWorkStatus = (sql: SqlClient.SqlClient, everyTenant: EveryTenant["Service"]) => {
  const openRows = (of: TenantFilter) => sql`
      SELECT t.app_id, t.reference, t.kind, t.mode, t.provider, t.created_at,
        CASE WHEN w.acknowledged_in_review = w.needs_review THEN w.acknowledged_until END AS rests_until
      FROM open_work w JOIN transactions t ON t.app_id = w.app_id AND t.reference = w.reference
      WHERE w.is_open ${of("w.app_id")} ${of("t.app_id")} ORDER BY w.created_at LIMIT ${COUNTED_AT_MOST}`
  const lastLine = (of: TenantFilter) => sql`
      SELECT h.fact, h.at, h.note FROM transaction_history h
      -- Nothing is told of a transaction before it is there; a day is for clocks that differ. Older partitions are not looked into.
      WHERE h.app_id = o.app_id AND h.reference = o.reference AND h.at >= o.created_at - interval '1 day' ${of("h.app_id")} ORDER BY h.line DESC LIMIT 1`
  const isUnknown = sql`l.fact IN ('Unknown', 'NotFound')`

  const open = (now: Instant) =>
    Effect.map(
      everyTenant.sweep((of) =>
        groups(sql`
        WITH o AS MATERIALIZED (${openRows(of)}),
        band AS (
          SELECT b.age, b.place, ${iso(now)}::timestamptz - b.ms * interval '1 millisecond' AS since
          FROM unnest(${bands.map(([age]) => age)}::text[], ${bands.map(([, ms]) => ms)}::bigint[]) WITH ORDINALITY AS b(age, ms, place)
        ),
        aged AS (
          SELECT o.*, coalesce((SELECT b.age FROM band b WHERE o.created_at > b.since ORDER BY b.place LIMIT 1), 'older') AS age FROM o
        )
        SELECT o.kind, o.mode, o.provider, o.age, count(*)::int AS count, (count(*) FILTER (WHERE ${isUnknown}))::int AS unknown,
          (count(*) FILTER (WHERE o.rests_until > ${iso(now)}::timestamptz))::int AS acknowledged,
          min(o.created_at) AS "oldestAt",
          min(o.created_at) FILTER (WHERE ${isUnknown} AND (o.rests_until > ${iso(now)}::timestamptz) IS NOT TRUE) AS "oldestUnknownAt"
        FROM aged o LEFT JOIN LATERAL (${lastLine(of)}) l ON true
        GROUP BY o.kind, o.mode, o.provider, o.age ORDER BY 1, 2, 3, min(o.created_at)`)
      ),
      ({ rows }) => allOpen(rows)
    )

  const reviews = (now: Instant) =>
    Effect.map(
      everyTenant.sweep((of) =>
        counts(sql`
        SELECT count(*)::int AS count, min(r.created_at) AS "oldestAt",
          (count(*) FILTER (WHERE r.acknowledged_in_review AND r.acknowledged_until > ${iso(now)}::timestamptz))::int AS acknowledged
        FROM (
          SELECT created_at, acknowledged_until, acknowledged_in_review FROM open_work
          WHERE needs_review ${of("app_id")} ORDER BY created_at LIMIT ${COUNTED_AT_MOST}
        ) r`)
      ),
      ({ rows }) => allReviews(rows)
    )

  const unanswered = (limit: number) =>
    Effect.map(
      everyTenant.sweep((of) =>
        unansweredRows(sql`
        WITH o AS MATERIALIZED (${openRows(of)})
        SELECT o.reference, o.app_id AS "appId", o.kind, o.mode, o.provider, o.created_at AS "createdAt", l.at AS "heardAt", l.note,
          o.rests_until AS "acknowledgedUntil"
        FROM o CROSS JOIN LATERAL (${lastLine(of)}) l WHERE ${isUnknown} ORDER BY o.created_at LIMIT ${limit}`)
      ),
      ({ rows }) => rows.toSorted((one, other) => one.createdAt - other.createdAt).slice(0, limit)
    ).pipe(Effect.orDie)

  // An exchange and a payout begin with the float's currency: it is what the account is looked up by.
  const accountsBetween = (of: TenantFilter, after: PlaceInWork, end: PlaceInWork | undefined) =>
    accountRows(sql`
        SELECT t.provider, t.mode, well_formed(t.record)->>'currency' AS currency, well_formed(t.record)->>'account' AS account,
          (count(*) FILTER (WHERE w.is_open))::int AS open, (count(*) FILTER (WHERE NOT w.is_open))::int AS followed
        FROM open_work w JOIN transactions t ON t.app_id = w.app_id AND t.reference = w.reference ${of("t.app_id")}
        WHERE (w.app_id, w.reference) > (${after.appId}, ${after.reference}) ${of("w.app_id")}
          ${end === undefined ? sql`` : sql`AND (w.app_id, w.reference) <= (${end.appId}, ${end.reference})`}
        GROUP BY 1, 2, 3, 4`)

  /** Page after page, so that no statement is long and none of the pages before has to be read again. */
  const accountPages = Effect.fnUntraced(function* (of: TenantFilter, rowsAtMost: number) {
    const pages: Array<ReadonlyArray<AccountWork>> = []
    let after: PlaceInWork = { appId: "", reference: "" }
    for (let left = rowsAtMost; left > 0; left -= COUNTED_AT_MOST) {
      const length = Math.min(COUNTED_AT_MOST, left)
      const [end] = yield* placesInWork(sql`
        SELECT w.app_id AS "appId", w.reference FROM open_work w WHERE (w.app_id, w.reference) > (${after.appId}, ${after.reference})
        ${of("w.app_id")} ORDER BY w.app_id, w.reference OFFSET ${length - 1} LIMIT 1`)
      pages.push(yield* accountsBetween(of, after, end))
      if (end === undefined) return [{ pages, isWhole: true }]
      after = end
    }
    return [{ pages, isWhole: false }]
  })

  const byAccount = (rowsAtMost: number) =>
    Effect.map(
      everyTenant.sweep((of) => accountPages(of, rowsAtMost)),
      ({ isWhole, rows }) => ({
        work: allAccounts(rows.flatMap(({ pages }) => pages.flat())),
        isWhole: isWhole && rows.every((shard) => shard.isWhole)
      })
    ).pipe(Effect.orDie)

  return { open, reviews, unanswered, byAccount }
}
