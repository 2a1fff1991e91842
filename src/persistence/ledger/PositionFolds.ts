import { Effect, Option, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { type Instant, iso } from "../../domain/Instant.ts"
import { json } from "../../domain/Json.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import { breachesStatement, type LedgerRule } from "./LedgerRule.ts"

/** How many entries are summed at a time, which takes a fraction of a second. */
const ENTRIES_A_STEP = 20_000
/** An entry has the time of its decision, and is committed well within this time after it. */
export const SETTLED_AFTER_MS = 3_600_000

const Sum = Schema.Struct({ mode: Schema.String, currency: Schema.String, account: Schema.String, amount: Schema.String })

/** The sums of a tenant's entries that were decided before `upto`, up to `reference`; null at the beginning. */
export const Fold = Schema.Struct({
  appId: Schema.String,
  reference: Schema.NullOr(Schema.String),
  upto: Schema.Number,
  sums: Schema.Array(Sum)
})
export type Fold = typeof Fold.Type
export interface Summed {
  readonly fold: Fold
  /** The tenant has no further entries. */
  readonly isLast: boolean
}

const names = rowsOf(Schema.Struct({ name: Schema.NullOr(Schema.String) }))
const sums = rowsOf(Sum)
const counts = rowsOf(Schema.Struct({ count: Schema.Int }))
const marks = rowsOf(Schema.Struct({ checkedUpto: Moment, foldedUpto: Moment }))

/**
 * The sums behind positions. It owns the tables position_folds and changes_checked. A position is the sum of all its postings.
 * The postings before a certain time are summed in steps, and the few after it are read together with the position, in one
 * snapshot. That time is long enough ago that nothing is committed any more with an earlier one.
 */
export const positionFolds = (sql: SqlClient.SqlClient, rule: LedgerRule) => {
  /** The next tenant with a position or a posting; null at the end. */
  const tenantAfter = (after: string | null) => {
    const rest = after === null ? "" : "WHERE app_id > $1::text"
    const next = ["journal", "float_positions"].map((table) => `(SELECT app_id FROM ${table} ${rest} ORDER BY app_id LIMIT 1)`)
    return Effect.map(
      names(sql.unsafe(`SELECT min(app_id) AS name FROM (${next.join(" UNION ALL ")}) AS next`, after === null ? [] : [after])),
      ([found]) => found?.name ?? null
    )
  }

  /** Adds the tenant's next entries; true when these were the last. */
  const add = Effect.fnUntraced(function* (fold: Fold) {
    const { appId, reference, upto } = fold
    const behind = reference === null ? sql`` : sql`AND reference > ${reference}`
    const [last] = yield* names(
      sql`SELECT reference AS name FROM journal WHERE app_id = ${appId} ${behind} ORDER BY reference OFFSET ${ENTRIES_A_STEP - 1} LIMIT 1`
    )
    const to = last?.name ?? null
    const found = yield* sums(sql`
      SELECT mode, currency, account, sum(amount)::text AS amount FROM (
        SELECT mode, currency, account, amount_minor AS amount FROM postings
        WHERE app_id = ${appId} ${behind} ${to === null ? sql`` : sql`AND reference <= ${to}`} AND at < ${iso(upto)}::timestamptz
        UNION ALL SELECT mode, currency, account, amount::numeric FROM json_to_recordset(${json(fold.sums)}::json)
          AS s(mode text, currency text, account text, amount text)
      ) AS all_of_them GROUP BY mode, currency, account`)
    return { fold: { ...fold, reference: to, sums: found }, isLast: to === null } satisfies Summed
  })

  /** The rule for one tenant: its sums, and the postings since. */
  const ofTenant = (atMost: number) => `
    WITH float_positions AS (SELECT * FROM float_positions WHERE app_id = $1::text),
    postings AS (
      SELECT $1::text AS app_id, mode, currency, account, amount AS amount_minor
      FROM json_to_recordset($2::json) AS s(mode text, currency text, account text, amount numeric)
      UNION ALL SELECT app_id, mode, currency, account, amount_minor FROM postings WHERE app_id = $1::text AND at >= $3::timestamptz
    ) ${breachesStatement(rule, atMost)}`

  /** The postings of all tenants, with sums in place of those before `folded_upto`. */
  const ofAll = (atMost: number) => `
    WITH postings AS (
      SELECT app_id, mode, currency, account, amount_minor FROM position_folds
      UNION ALL SELECT p.app_id, p.mode, p.currency, p.account, p.amount_minor
      FROM postings p LEFT JOIN position_folds f ON f.app_id = p.app_id AND f.mode = p.mode AND f.currency = p.currency AND f.account = p.account
      WHERE p.at >= $1::timestamptz AND (f.upto IS NULL OR p.at >= f.upto)
    ) ${breachesStatement(rule, atMost)}`

  const read = sql`SELECT checked_upto AS "checkedUpto", folded_upto AS "foldedUpto" FROM changes_checked`
  const marksNow = Effect.map(marks(read), ([row]) => Option.fromUndefinedOr(row))
  const lockedMarks = Effect.map(marks(sql`${read} FOR UPDATE`), ([row]) => Option.fromUndefinedOr(row))

  /** Stores all sums of a tenant, unless those of all tenants have been advanced beyond its time in the meantime. */
  const keep = ({ appId, sums: all, upto }: Fold) =>
    sql.withTransaction(
      Effect.gen(function* () {
        const found = yield* lockedMarks
        if (Option.isSome(found) && found.value.foldedUpto > upto) return
        yield* sql`DELETE FROM position_folds WHERE app_id = ${appId}`
        yield* sql`INSERT INTO position_folds (app_id, mode, currency, account, amount_minor, upto)
          SELECT ${appId}, mode, currency, account, amount, ${iso(upto)}::timestamptz
          FROM json_to_recordset(${json(all)}::json) AS s(mode text, currency text, account text, amount bigint)`
      })
    )

  /** Adds to the sums what was posted from `folded_upto` to here. In a transaction. */
  const moveTo = Effect.fnUntraced(function* (to: Instant) {
    const found = yield* lockedMarks
    if (Option.isNone(found) || found.value.foldedUpto >= to) return
    yield* sql`INSERT INTO position_folds AS f (app_id, mode, currency, account, amount_minor, upto)
          SELECT p.app_id, p.mode, p.currency, p.account, sum(p.amount_minor), ${iso(to)}::timestamptz
          FROM postings p LEFT JOIN position_folds b ON b.app_id = p.app_id AND b.mode = p.mode AND b.currency = p.currency AND b.account = p.account
          WHERE p.at >= ${iso(found.value.foldedUpto)}::timestamptz AND p.at < ${iso(to)}::timestamptz AND (b.upto IS NULL OR p.at >= b.upto)
          GROUP BY p.app_id, p.mode, p.currency, p.account
          ON CONFLICT (app_id, mode, currency, account) DO UPDATE SET amount_minor = f.amount_minor + EXCLUDED.amount_minor,
            upto = greatest(f.upto, EXCLUDED.upto)`
    yield* sql`UPDATE changes_checked SET folded_upto = ${iso(to)}::timestamptz`
  })

  const positionsOf = (appId: string) =>
    Effect.map(
      counts(sql`SELECT count(*)::int AS count FROM float_positions WHERE app_id = ${appId}`),
      ([row]) => row?.count ?? 0
    )

  /** After the first complete verification, changes can be checked alone: those since it began. */
  const begin = (startedAt: Instant) => {
    const settled = iso(startedAt - SETTLED_AFTER_MS)
    return sql`INSERT INTO changes_checked AS c (checked_upto, folded_upto) VALUES (${settled}::timestamptz, ${settled}::timestamptz)
      ON CONFLICT (is_only) DO UPDATE SET checked_upto = greatest(c.checked_upto, EXCLUDED.checked_upto)`
  }

  /** Stores that all changes before this time were checked. */
  const checkedTo = (to: Instant) =>
    sql`UPDATE changes_checked SET checked_upto = greatest(checked_upto, ${iso(to)}::timestamptz)`

  const values = ({ appId, sums: all, upto }: Fold) => [appId, json(all), iso(upto)]

  return { add, begin, checkedTo, keep, marks: marksNow, moveTo, ofAll, ofTenant, positionsOf, tenantAfter, values }
}

export type PositionFolds = ReturnType<typeof positionFolds>
