import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { rowsOf } from "../connection/Rows.ts"
import { breachesStatement, type LedgerRule } from "./LedgerRule.ts"

/** Some references of one tenant. Whatever is stored under them is checked together, in one snapshot. */
export interface Slice {
  readonly appId: string
  readonly references: ReadonlyArray<string>
}

/** The tables and views that a slice narrows. Each has an index that begins with the tenant and the reference, or the other way round. */
const narrowed = ["transactions", "journal", "postings", "transaction_history", "float_adjustments", "open_work"]

/**
 * The rules that look at one record, or at one adjustment, at a time: a row breaks one of them, or does not, whatever is stored under other
 * references. They read no other tables than those that a slice narrows. A rule that is not named here is always checked as a whole.
 */
const ofOneRecord: ReadonlySet<string> = new Set([
  "entries_balance",
  "entries_are_whole",
  "entries_match_the_status",
  "entries_match_the_record",
  "corrections_make_the_record",
  "corrections_are_one_a_case",
  "entries_have_a_cause",
  "entries_stand_in_their_slot",
  "slots_are_used_once",
  "records_know_their_slots",
  "entries_keep_to_their_accounts",
  "columns_match_the_record",
  "closed_records_say_so",
  "open_records_are_looked_after",
  "closed_records_keep_no_secret",
  "open_work_is_open",
  "history_is_whole",
  "records_are_as_written",
  "history_is_as_written",
  "calls_are_as_written"
])

export const isOfOneRecord = ({ rule }: LedgerRule): boolean => ofOneRecord.has(rule)

// A name of a WITH query stands for the table in all that follows, so that a rule is asked in the same words of a slice and of everything.
const ofSlice = `WITH ${narrowed
  .map((name) => `${name} AS (SELECT * FROM ${name} WHERE app_id = $1::text AND reference = ANY ($2::text[]))`)
  .join(", ")}`

/** As `breachesStatement`, of a slice: its tenant and its references are the parameters. */
export const slicedBreaches = (rule: LedgerRule, atMost: number): string => `${ofSlice} ${breachesStatement(rule, atMost)}`

/** How many rows of a slice each of the rules checks, in their order. */
export const slicedCounts = (rules: ReadonlyArray<LedgerRule>): string =>
  `${ofSlice} SELECT counted.rows AS count FROM (
    ${rules.map(({ counted }, at) => `SELECT ${at} AS place, (${counted}) AS rows`).join(" UNION ALL ")}
  ) AS counted ORDER BY counted.place`

const tenants = rowsOf(Schema.Struct({ appId: Schema.NullOr(Schema.String) }))
const references = rowsOf(Schema.Struct({ reference: Schema.String }))
const keys = rowsOf(Schema.Struct({ appId: Schema.String, reference: Schema.String }))

/** Every reference stands in one of them, but for a record that has lost all its lines. */
const written = ["journal", "open_work", "float_adjustments"]

/**
 * The places in the order in which slices follow each other; `after` null is the beginning. Read before the settings for rules are made: each
 * walks an index, and no more of it than the answer needs.
 */
export const ledgerSlices = (sql: SqlClient.SqlClient) => ({
  /** The next tenant with anything written; null at the end. */
  tenantAfter: (after: string | null) => {
    const rest = after === null ? "" : "WHERE app_id > $1::text"
    const next = written.map((table) => `(SELECT app_id FROM ${table} ${rest} ORDER BY app_id LIMIT 1)`).join(" UNION ALL ")
    return Effect.map(
      tenants(sql.unsafe(`SELECT min(app_id) AS "appId" FROM (${next}) AS next_of_each`, after === null ? [] : [after])),
      ([found]) => found?.appId ?? null
    )
  },
  /** At most `size` of the references that the tenant has next. */
  referencesAfter: (appId: string, after: string | null, size: number) => {
    const rest = after === null ? "" : "AND reference > $2::text"
    const next = written
      .map(
        (table) => `(SELECT DISTINCT reference FROM ${table} WHERE app_id = $1::text ${rest} ORDER BY reference LIMIT ${size})`
      )
      .join(" UNION ")
    const statement = `SELECT reference FROM (${next}) AS next_of_each ORDER BY reference LIMIT ${size}`
    return Effect.map(references(sql.unsafe(statement, after === null ? [appId] : [appId, after])), (rows) =>
      rows.map(({ reference }) => reference)
    )
  },
  /**
   * Of the next `size` records of all tenants those that nothing was written about, which no slice of a tenant has; `reached` is null at the
   * end.
   */
  unwrittenAfter: Effect.fnUntraced(function* (after: string | null, size: number) {
    const from = after === null ? "true" : "t.reference > $1::text"
    const values = after === null ? [] : [after]
    const [last] = yield* references(
      sql.unsafe(`SELECT t.reference FROM transactions t WHERE ${from} ORDER BY t.reference OFFSET ${size - 1} LIMIT 1`, values)
    )
    const to = last === undefined ? "true" : `t.reference <= $${values.length + 1}::text`
    const unknown = written.map(
      (table) => `NOT EXISTS (SELECT 1 FROM ${table} w WHERE w.app_id = t.app_id AND w.reference = t.reference)`
    )
    const found = yield* keys(
      sql.unsafe(
        `SELECT t.app_id AS "appId", t.reference FROM transactions t WHERE ${[from, to, ...unknown].join(" AND ")} ORDER BY 1, 2`,
        last === undefined ? values : [...values, last.reference]
      )
    )
    const slices = Map.groupBy(found, ({ appId }) => appId)
    return {
      slices: [...slices].map(([appId, rows]): Slice => ({ appId, references: rows.map(({ reference }) => reference) })),
      reached: last?.reference ?? null
    }
  })
})
