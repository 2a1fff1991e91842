import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { Distribution } from "../connection/Distribution.ts"
import { rowsOf } from "../connection/Rows.ts"
import { breachesStatement, type LedgerRule } from "./LedgerRule.ts"

/** Some references with their tenants; on Citus all of one tenant. All that is stored under them is checked in one snapshot. */
export interface Slice {
  readonly appIds: ReadonlyArray<string>
  readonly references: ReadonlyArray<string>
}

/** The tables and views that a slice restricts. Each has an index that begins with tenant and reference, in either order. */
const narrowed = ["transactions", "journal", "postings", "transaction_history", "float_adjustments", "open_work"]

/**
 * The rules about a single record or adjustment: whether a row violates one of them does not depend on rows under other
 * references. They read only tables that a slice restricts.
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
/** Rules that compare a record with rows to which its columns lead. Some lead to another tenant, which Citus cannot query. */
const ofLinkedRows: ReadonlySet<string> = new Set([
  "outcomes_were_told",
  "provider_references_are_found",
  "provider_references_are_used_once",
  "refunds_are_found"
])

export const isOfOneRecord = ({ rule }: LedgerRule): boolean => ofOneRecord.has(rule)

/**
 * Queries by the name of the table that they replace while a rule is applied to part of the ledger. The name of a WITH query
 * hides the table in everything that follows, so that a rule has the same text for a part and for everything. A query may read
 * those before it.
 */
export type Forms = Readonly<Record<string, string>>

/** The WITH clause with the queries that the text needs, directly or through others. */
export const narrowing = (forms: Forms, text: string): string => {
  const needed: Array<readonly [string, string]> = []
  for (const one of Object.entries(forms).toReversed()) {
    const name = new RegExp(`\\b${one[0]}\\b`)
    if ([text, ...needed.map(([, query]) => query)].some((reader) => name.test(reader))) needed.unshift(one)
  }
  return `WITH ${needed.map(([name, query]) => `${name} AS MATERIALIZED (${query})`).join(", ")}`
}

/** Rows of a table for each row of `of`, looked up one by one: OFFSET prevents the planner from scanning the whole table. */
export const lookedUp = (table: string, of: string, where: string): string =>
  `SELECT x.* FROM ${of} AS s CROSS JOIN LATERAL (SELECT * FROM ${table} l WHERE ${where} OFFSET 0) x`

const byReference = "l.app_id = s.app_id AND l.reference = s.reference"

/** For some references with their tenants, which are the parameters. */
export const formsOfPairs: Forms = {
  pairs: "SELECT * FROM unnest($1::text[], $2::text[]) AS p(app_id, reference)",
  ...Object.fromEntries(narrowed.map((table) => [table, lookedUp(table, "pairs", byReference)])),
  // The times at which something was written about a record: an event and a delivery have the time of their step.
  moments: `
    SELECT app_id, mode, at FROM journal UNION SELECT app_id, mode, created_at FROM transactions
    UNION SELECT app_id, mode, to_timestamp((well_formed(record)->>'completedAt')::float8 / 1000) FROM transactions`,
  events: `
    SELECT e.* FROM (${lookedUp("events", "moments", "l.app_id = s.app_id AND l.mode = s.mode AND l.created_at = s.at")}) e
    JOIN pairs p ON p.app_id = e.app_id AND p.reference = e.reference`,
  provider_references: lookedUp(
    "provider_references",
    "transactions",
    `l.provider = s.provider AND l.mode = s.mode AND l.provider_reference = s.provider_reference AND ${byReference}`
  ),
  metadata_members: lookedUp(
    "metadata_members",
    `(SELECT DISTINCT app_id, mode, metadata_member('', well_formed(record)->>'refundOf') AS member FROM transactions WHERE kind = 'payout')`,
    "l.app_id = s.app_id AND l.mode = s.mode AND l.member = s.member"
  )
}

/** The records with the keys that a query returns. */
export const recordsOf = (keys: string): string => lookedUp("transactions", `(${keys})`, byReference)

/** The additional rows that a rule reads: of two records with one name at a provider, only one may be in the slice. */
export const formsOfLinked: Readonly<Record<string, Forms>> = {
  provider_references_are_used_once: {
    transactions: recordsOf(`
      SELECT app_id, reference FROM pairs UNION
      SELECT o.app_id, o.reference FROM (${recordsOf("SELECT * FROM pairs")}) t JOIN LATERAL (SELECT * FROM provider_references r
        WHERE r.provider = t.provider AND r.mode = t.mode AND r.provider_reference = t.provider_reference OFFSET 0) o ON true`)
  }
}

export interface Slicing {
  readonly has: (rule: LedgerRule) => boolean
  readonly values: (slice: Slice) => ReadonlyArray<unknown>
  /** As `breachesStatement`, for a slice, whose values are the parameters. */
  readonly breaches: (rule: LedgerRule, atMost: number) => string
  readonly of: (found: ReadonlyArray<{ readonly appId: string; readonly reference: string }>) => ReadonlyArray<Slice>
  /** How many rows of a slice each of the rules checks, in their order. */
  readonly counts: (rules: ReadonlyArray<LedgerRule>) => string
}

const sliceOf = (found: ReadonlyArray<{ readonly appId: string; readonly reference: string }>): Slice => ({
  appIds: found.map(({ appId }) => appId),
  references: found.map(({ reference }) => reference)
})

const countsOf = (rules: ReadonlyArray<LedgerRule>): string => `
  SELECT counted.rows AS count FROM (
    ${rules.map(({ counted }, at) => `SELECT ${at} AS place, (${counted}) AS rows`).join(" UNION ALL ")}
  ) AS counted ORDER BY counted.place`

const ofTenant = `WITH ${narrowed
  .map((name) => `${name} AS (SELECT * FROM ${name} WHERE app_id = $1::text AND reference = ANY ($2::text[]))`)
  .join(", ")}`

/** On Citus only the tenant's server is queried. */
const onCitus: Slicing = {
  of: (found) => [...Map.groupBy(found, ({ appId }) => appId).values()].map(sliceOf),
  has: isOfOneRecord,
  values: ({ appIds, references }) => [appIds[0] ?? "", references],
  breaches: (rule, atMost) => `${ofTenant} ${breachesStatement(rule, atMost)}`,
  counts: (rules) => `${ofTenant} ${countsOf(rules)}`
}

const onOneServer: Slicing = {
  of: (found) => (found.length === 0 ? [] : [sliceOf(found)]),
  has: (one) => isOfOneRecord(one) || ofLinkedRows.has(one.rule),
  values: ({ appIds, references }) => [appIds, references],
  breaches: (rule, atMost) => {
    const statement = breachesStatement(rule, atMost)
    return `${narrowing({ ...formsOfPairs, ...formsOfLinked[rule.rule] }, statement)} ${statement}`
  },
  counts: (rules) => `${narrowing(formsOfPairs, countsOf(rules))} ${countsOf(rules)}`
}

export const slicingOn = ({ isDistributed }: Distribution["Service"]): Slicing => (isDistributed ? onCitus : onOneServer)

const tenants = rowsOf(Schema.Struct({ appId: Schema.NullOr(Schema.String) }))
const references = rowsOf(Schema.Struct({ reference: Schema.String }))
const keys = rowsOf(Schema.Struct({ appId: Schema.String, reference: Schema.String }))

const names = rowsOf(
  Schema.Struct({
    provider: Schema.String,
    mode: Schema.String,
    name: Schema.String,
    appId: Schema.String,
    reference: Schema.String
  })
)
const nameColumns = "provider, mode, provider_reference, app_id, reference"

/** Every reference is in one of these tables, except a record that has lost all its lines. */
const written = ["journal", "open_work", "float_adjustments"]

/**
 * The places between slices, in their order; `after` null is the beginning. They are read before the planner settings for rules
 * are made: each walks an index, and no further than the result needs.
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
  /** The next of all tenants, with anything written or not; null at the end. It names those after a page that cannot be read. */
  listedAfter: (after: string | null) =>
    Effect.map(
      tenants(sql`SELECT app_id AS "appId" FROM tenants WHERE app_id > ${after ?? ""} ORDER BY app_id LIMIT 1`),
      ([found]) => found?.appId ?? null
    ),
  /** The tenant's next references, at most `size`. */
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
  /** The next `size` names that providers gave to records, and how to apply a rule about names to these only. */
  namesAfter: Effect.fnUntraced(function* (after: ReadonlyArray<string> | null, size: number) {
    const rest = after === null ? "" : `WHERE (${nameColumns}) > ($1::text, $2::text, $3::text, $4::text, $5::text)`
    const values = after ?? []
    const page = `SELECT * FROM provider_references ${rest} ORDER BY ${nameColumns} LIMIT ${size}`
    const rows = yield* names(
      sql.unsafe(`SELECT provider, mode, provider_reference AS name, app_id AS "appId", reference FROM (${page}) AS page`, values)
    )
    const last = rows.length < size ? undefined : rows.at(-1)
    const forms: Forms = {
      provider_references: page,
      transactions: recordsOf("SELECT DISTINCT app_id, reference FROM provider_references")
    }
    return {
      values,
      count: rows.length,
      last: last === undefined ? null : [last.provider, last.mode, last.name, last.appId, last.reference],
      breaches: (rule: LedgerRule, atMost: number) => {
        const statement = breachesStatement(rule, atMost)
        return `${narrowing(forms, statement)} ${statement}`
      }
    }
  }),
  /** Of the next `size` records of all tenants, those without lines, which are in no slice. `reached` is null at the end. */
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
    return { found, reached: last?.reference ?? null }
  })
})
