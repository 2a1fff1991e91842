import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { type Instant, iso } from "../../domain/Instant.ts"
import { json } from "../../domain/Json.ts"
import type { LedgerDifference } from "../../services/ports/LedgerVerification.ts"
import { ofNamedEndpoints } from "../connection/EndpointTables.ts"
import { rowsOf } from "../connection/Rows.ts"
import { breachesStatement, type LedgerRule } from "./LedgerRule.ts"
import { type Forms, formsOfLinked, formsOfPairs, lookedUp, narrowing, recordsOf } from "./LedgerSlices.ts"
import { joined, type VerificationSteps } from "./VerificationSteps.ts"

// The changes of a time interval, and how to apply every rule to them alone. All rows are looked up by time or from the changed
// rows, so that the duration depends on the number of changes.

/** Records, adjustments and names that changed in an interval: `from <= at < to`; null at an open end. */
export interface Changes {
  readonly appIds: ReadonlyArray<string>
  readonly references: ReadonlyArray<string>
  readonly from: Instant | null
  readonly to: Instant | null
}

/** Rules that depend on what operators did, on a week's windows, or on when rows were removed. They are applied unchanged. */
const asTheyStand = [
  "console_postings_have_two_people",
  "windows_are_counted",
  "keys_are_kept_long_enough",
  "windows_are_kept_long_enough"
]
/** Rules about the records that are open now, which open_work lists. */
const ofOpenRecords = ["reserved_is_what_is_open", "open_records_have_their_position"]
/** Applied to the stored sums of earlier postings (`PositionFolds`). */
const ofFolds = "positions_are_the_fold"

/** Without an end nothing is too late, not even 'infinity'. Both ends are known when the statement is planned. */
const isBefore = (at: string, end: string, margin = "") =>
  `(${at} < ${end}::timestamptz${margin} OR ${end}::timestamptz = 'infinity'::timestamptz)`
const within = (at: string, [from, to]: readonly [string, string]) => `${at} >= ${from}::timestamptz AND ${isBefore(at, to)}`
const inStretch = (at: string) => within(at, ["$3", "$4"])
const ofPairs = (row: string) => `JOIN pairs p ON p.app_id = ${row}.app_id AND p.reference = ${row}.reference`
const byId = (id: string) => `l.app_id = s.app_id AND l.id = s.${id}`
const atMoment = "l.app_id = s.app_id AND l.mode = s.mode AND l.created_at = s.at"
const dueOf = `
  SELECT q.* FROM due_deliveries q LEFT JOIN deliveries d ON d.app_id = q.app_id AND d.mode = q.mode AND d.id = q.id
  WHERE d.id IS NOT NULL OR ${inStretch("q.created_at")}`
/** Deliveries of changed records, and those that became due in the interval. */
const deliveriesAndDue = (deliveries: string, due: string) => `
  ${lookedUp(deliveries, "moments", atMoment)} UNION
  ${lookedUp(deliveries, `(SELECT * FROM ${due} q WHERE ${inStretch("q.created_at")})`, byId("id"))}`

/** A request that waits for its provider opens its record this long after it claimed its key. */
const KEY_BEFORE_RECORD = "20 seconds"

const forms: Forms = {
  ...formsOfPairs,
  // The audit log is the operators' and short: its rows that name one of the references.
  audit_log: `
    SELECT a.* FROM audit_log a WHERE a.details ~ '"(reference|resolved)"' AND EXISTS (
      SELECT 1 FROM regexp_matches(a.details, '"(?:reference|resolved)"\\s*:\\s*"([^"]*)"', 'g') AS m(found) WHERE m.found[1] = ANY ($2::text[]))`,
  idempotency_keys: `
    SELECT k.* FROM idempotency_keys k LEFT ${ofPairs("k")}
    WHERE k.created_at >= $3::timestamptz - interval '${KEY_BEFORE_RECORD}' AND ${isBefore("k.created_at", "$4", ` + interval '${KEY_BEFORE_RECORD}'`)}
      AND (p.app_id IS NOT NULL OR k.reference IS NULL)
    UNION ${lookedUp(
      "idempotency_keys",
      "(SELECT * FROM transactions WHERE created_at < $3::timestamptz)",
      `l.created_at >= s.created_at - interval '${KEY_BEFORE_RECORD}' AND l.created_at <= s.created_at AND l.app_id = s.app_id AND l.reference = s.reference`
    )}`,
  fx_quotes: lookedUp(
    "fx_quotes",
    "(SELECT app_id, mode, well_formed(record)->>'quoteId' AS quote_id FROM transactions WHERE kind = 'exchange')",
    "l.app_id = s.app_id AND l.mode = s.mode AND l.quote_id = s.quote_id"
  ),
  provider_references: `${formsOfPairs["provider_references"]} UNION
    SELECT r.* FROM provider_references r ${ofPairs("r")} WHERE ${inStretch("r.written_at")}`,
  // A recipient was last used at the time of a step of a payout to it.
  beneficiaries: `
    SELECT b.* FROM (${lookedUp(
      "beneficiaries",
      `(SELECT DISTINCT t.app_id, t.party_hash, j.at FROM transactions t JOIN journal j ON j.app_id = t.app_id AND j.reference = t.reference
        WHERE t.kind = 'payout' AND t.party_hash IS NOT NULL)`,
      "l.app_id = s.app_id AND l.mode IN ('live', 'test') AND l.party_hash = s.party_hash AND l.last_used_at = s.at"
    )}) b`,
  events: `${formsOfPairs["events"]} UNION SELECT e.* FROM events e ${ofPairs("e")} WHERE ${inStretch("e.created_at")}`,
  deliveries: lookedUp("deliveries", "moments", atMoment),
  due_deliveries: dueOf,
  named_deliveries: lookedUp("named_deliveries", "moments", atMoment),
  named_due_deliveries: ofNamedEndpoints(dueOf)
}

/** For rules that need additional rows of a table, or other rows than those of the changed records. */
const besides: Readonly<Record<string, Forms>> = {
  ...formsOfLinked,
  quotes_are_used_once: {
    transactions: recordsOf(`SELECT app_id, reference FROM pairs UNION
      SELECT n.app_id, n.reference FROM transactions n WHERE n.created_at >= $3::timestamptz - interval '1 hour' AND ${isBefore("n.created_at", "$4")}
        AND n.kind = 'exchange'`)
  },
  adjustments_are_of_no_record: {
    transactions: lookedUp(
      "transactions",
      "(SELECT f.app_id, f.external_id FROM float_adjustments f JOIN pairs p ON p.app_id = f.app_id AND p.reference = f.reference)",
      "l.app_id = s.app_id AND l.reference = s.external_id"
    )
  },
  deliveries_have_their_event: {
    events: lookedUp(
      "events",
      "(SELECT app_id, event_id FROM deliveries UNION SELECT app_id, event_id FROM named_deliveries)",
      byId("event_id")
    )
  },
  events_have_their_delivery: {
    deliveries: lookedUp("deliveries", "events", byId("id")),
    named_deliveries: lookedUp("named_deliveries", "events", "l.app_id = s.app_id AND l.event_id = s.id")
  },
  deliveries_come_due: {
    deliveries: deliveriesAndDue("deliveries", "due_deliveries"),
    named_deliveries: deliveriesAndDue("named_deliveries", "named_due_deliveries")
  }
}

/** A key claimed long before its record, by a request that died and was repeated, is found among all keys of its tenant. */
const ofTenants: Forms = {
  idempotency_keys: "SELECT * FROM idempotency_keys WHERE app_id IN (SELECT app_id FROM pairs)"
}
const looksAgain = "records_have_their_key"

/** Rules that start from few rows, and look up the related rows in tables that only grow. */
const bySmall: Readonly<Record<string, Forms>> = {
  ...Object.fromEntries(
    ofOpenRecords.map((rule) => [rule, { transactions: recordsOf("SELECT app_id, reference FROM open_work") }])
  ),
  adjustments_are_as_written: {
    journal: lookedUp("journal", "float_adjustments", "l.app_id = s.app_id AND l.reference = s.reference")
  },
  adjustments_are_of_no_record: {
    transactions: lookedUp("transactions", "float_adjustments", "l.app_id = s.app_id AND l.reference = s.external_id")
  }
}

const ofRule = (rule: string): Forms => {
  const own = { ...forms, ...besides[rule] }
  if (rule !== "deliveries_have_their_event") return own
  // There a delivery leads to its event; elsewhere an event leads to its delivery.
  const { events, ...rest } = own
  return { ...rest, events: events ?? "" }
}

/** A key that was claimed long before or after its record, with all other keys of that record. */
const farKeys = `SELECT DISTINCT k.app_id, k.reference FROM idempotency_keys k JOIN transactions t ON t.app_id = k.app_id AND t.reference = k.reference
  WHERE ${inStretch("k.created_at")} AND (t.created_at < k.created_at OR t.created_at > k.created_at + interval '${KEY_BEFORE_RECORD}')`
/** A tenant's keys are read once for all of these. */
const ofFarKeys = lookedUp(
  "idempotency_keys",
  "(SELECT DISTINCT app_id FROM far)",
  "l.app_id = s.app_id AND l.reference IN (SELECT reference FROM far)"
)
/** Deliveries in an interval by each tenant's index: no index covers all. A recovery's deliveries are later than their event. */
const deliveriesWhere = (isWithin: string) => `
  SELECT x.* FROM tenants n CROSS JOIN (VALUES ('live'), ('test')) AS m(mode)
  CROSS JOIN LATERAL (SELECT * FROM deliveries l WHERE l.app_id = n.app_id AND l.mode = m.mode AND ${isWithin} OFFSET 0) x`
const namedOfStretch = `SELECT * FROM named_deliveries l WHERE ${inStretch("l.created_at")}`

/** The rules that walk all history by intervals: each reads a growing table that cannot be sliced by reference. */
const ofStretches = [
  "keys_are_linked",
  "records_have_their_key",
  "answers_are_as_written",
  "resolutions_are_audited",
  "events_are_as_written",
  "events_say_the_amount",
  "deliveries_have_their_event",
  "deliveries_come_due",
  "events_have_their_delivery"
]
export const isAskedOfStretches = ({ rule }: LedgerRule): boolean => ofStretches.includes(rule)

/** Additional rows for a walk through all intervals, which has to see every row: those to which no changed record leads. */
const ofNoRecord: Readonly<Record<string, (query: string, rule: string) => string>> = {
  idempotency_keys: (query) => `${query} UNION ${ofFarKeys}`,
  deliveries: (query, rule) =>
    rule === "events_have_their_delivery" ? query : `${query} UNION ${deliveriesWhere(inStretch("l.created_at"))}`,
  named_deliveries: (query, rule) => (rule === "events_have_their_delivery" ? query : `${query} UNION ${namedOfStretch}`),
  events: (query, rule) =>
    rule === "deliveries_have_their_event"
      ? query
      : `${query} UNION SELECT e.* FROM events e WHERE ${inStretch("e.created_at")} AND e.reference IS NULL`,
  // The whole log is read when the interval has a ruling; without one, none of its rows is about these records.
  audit_log: (query) => `${query} AND (EXISTS (SELECT 1 FROM journal WHERE actor = 'review' OR phase = 'correct')
    OR EXISTS (SELECT 1 FROM audit_log o WHERE ${inStretch("o.at")} AND o.details ~ '"resolved"'))`
}
const wholly = (rule: string): Forms =>
  Object.fromEntries(
    Object.entries(ofRule(rule)).flatMap(([name, query]) => [
      ...(name === "idempotency_keys" ? [["far", farKeys] as const] : []),
      [name, ofNoRecord[name]?.(query, rule) ?? query] as const
    ])
  )

const asked = (rule: LedgerRule, of: Forms, atMost: number): string => {
  const statement = breachesStatement(rule, atMost)
  const query = narrowing(of, statement)
  return query === "WITH " ? statement : `${query} ${statement}`
}

/** Applied once per check, without parameters. */
export const isAskedOnce = ({ rule }: LedgerRule): boolean => asTheyStand.includes(rule) || ofOpenRecords.includes(rule)
/** As `breachesStatement`, when it starts from few rows. */
export const askedBySmall = (rule: LedgerRule, atMost: number): string => asked(rule, bySmall[rule.rule] ?? {}, atMost)

/** How many rows the rule checks, for the same case. */
export const countedBySmall = ({ counted, rule }: LedgerRule): string => {
  const query = narrowing(bySmall[rule] ?? {}, counted)
  return query === "WITH " ? counted : `${query} ${counted}`
}

/** Applied to changes, whose values are the parameters. */
export const isAskedOfChanges = (rule: LedgerRule): boolean => !isAskedOnce(rule) && rule.rule !== ofFolds
export const askedOfChanges = (rule: LedgerRule, atMost: number): string => asked(rule, ofRule(rule.rule), atMost)

/** As `askedOfChanges`, for one interval of a walk through all of them. */
export const askedOfStretch = (rule: LedgerRule, atMost: number): string => asked(rule, wholly(rule.rule), atMost)

const between = (at: string) => within(at, ["$1", "$2"])
const countedIn: Forms = {
  ...Object.fromEntries(
    ["transactions", "idempotency_keys", "events", "named_deliveries"].map((table) => [
      table,
      `SELECT * FROM ${table} WHERE ${between("created_at")}`
    ])
  ),
  transaction_history: `SELECT * FROM transaction_history WHERE ${between("at")}`,
  deliveries: deliveriesWhere(between("l.created_at"))
}
/** How many rows of an interval the rule checks: each row is in one interval. The parameters are its ends. */
export const countedInStretch = ({ counted }: LedgerRule): string => `${narrowing(countedIn, counted)} ${counted}`

/** A second query, after the first found something, that may have to read more; null when the first is sufficient. */
export const askedAgain = (rule: LedgerRule, atMost: number): string | null =>
  rule.rule === looksAgain ? asked(rule, { ...ofRule(rule.rule), ...ofTenants }, atMost) : null

const busy = rowsOf(Schema.Struct({ lines: Schema.Int }))
/** How many steps were written in the interval, counting up to this many. */
export const linesIn = (sql: SqlClient.SqlClient, from: Instant | null, to: Instant | null, atMost: number) =>
  Effect.map(
    busy(sql`SELECT count(*)::int AS lines FROM (
      SELECT 1 FROM journal WHERE at >= ${endOf(from, "-infinity")}::timestamptz AND at < ${endOf(to, "infinity")}::timestamptz LIMIT ${atMost}) l`),
    ([row]) => row?.lines ?? 0
  )

const endOf = (at: Instant | null, open: "-infinity" | "infinity"): string => (at === null ? open : iso(at))

/** The parameters that the statement uses, because PostgreSQL refuses an unused one without a type. */
export const valuesOf = ({ appIds, from, references, to }: Changes, statement: string): ReadonlyArray<unknown> =>
  statement.includes("$3")
    ? [appIds, references, endOf(from, "-infinity"), endOf(to, "infinity")]
    : statement.includes("$1")
      ? [appIds, references]
      : []

const pairs = rowsOf(Schema.Struct({ appId: Schema.String, reference: Schema.String }))

/** One query per table that names records, adjustments or events: those written in the interval, or open at its open end. */
const written = (to: Instant | null): ReadonlyArray<string> => [
  `SELECT app_id, reference FROM journal WHERE ${between("at")}`,
  `SELECT app_id, reference FROM transactions WHERE ${between("created_at")}`,
  `SELECT app_id, reference FROM events WHERE ${between("created_at")}`,
  `SELECT app_id, reference FROM float_adjustments WHERE ${between("at")}`,
  `SELECT app_id, reference FROM idempotency_keys WHERE ${between("created_at")}`,
  `SELECT app_id, reference FROM provider_references WHERE ${between("written_at")}`,
  `SELECT d->>'app_id', d->>'reference' FROM (SELECT audit_details(details) AS d FROM audit_log WHERE ${between("at")}) a`,
  `SELECT t.app_id, t.reference FROM (SELECT audit_details(details)->>'resolved' AS reference FROM audit_log WHERE ${between("at")}) a
    CROSS JOIN LATERAL (SELECT * FROM transactions l WHERE l.reference = a.reference OFFSET 0) t`,
  ...(to === null ? ["SELECT app_id, reference FROM open_work"] : [])
]

/** The names of all records, adjustments and events that were written in the interval according to one of these tables. */
export const changedIn = (
  sql: SqlClient.SqlClient,
  from: Instant | null,
  to: Instant | null,
  tables: ReadonlyArray<string> = written(to)
) => {
  const statement = `SELECT DISTINCT app_id AS "appId", reference FROM (${tables.join(" UNION ALL ")}) AS w(app_id, reference)
    WHERE app_id IS NOT NULL AND reference IS NOT NULL ORDER BY 1, 2`
  return pairs(sql.unsafe(statement, statement.includes("$1") ? [endOf(from, "-infinity"), endOf(to, "infinity")] : []))
}

/** The same, as far as the tables can be read. */
export const changesRead = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { changes, partOrUnread, together }: VerificationSteps,
  rules: ReadonlyArray<string>,
  { from, to }: Pick<Changes, "from" | "to">
) {
  const asked = Effect.flatMap(together(written(to)), (parts) =>
    Effect.forEach(parts, (tables) => partOrUnread(rules, changedIn(sql, from, to, tables)))
  )
  const parts = yield* changes(asked)
  const all = new Map(parts.flatMap(({ answer }) => answer ?? []).map((one) => [json([one.appId, one.reference]), one]))
  return {
    all: [...all.values()],
    unread: parts.reduce<ReadonlyArray<LedgerDifference>>((found, { unread }) => joined(found, unread), [])
  }
})
