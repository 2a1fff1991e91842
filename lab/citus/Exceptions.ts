import { ledgerRules } from "../../src/persistence/ledger/LedgerVerificationPg.ts"
import type { RuleName } from "./StatementRules.ts"

/** A statement that breaks rules, known by a piece of its text, and why it may. */
export interface Exception {
  readonly text: string
  readonly rules: ReadonlyArray<RuleName>
  readonly because: string
}

const because = (reason: string, rules: ReadonlyArray<RuleName>, texts: ReadonlyArray<string>): ReadonlyArray<Exception> =>
  texts.map((text) => ({ text, rules, because: reason }))

/** Sent on Citus as well: it reads every server, and fails as a whole while one of them is down. Nobody's money waits for it. */
const ofAllTenants: ReadonlyArray<Exception> = [
  ...because("ledger verify reads everything", ["namesItsTenant"], [") AS breaches ORDER BY 1 LIMIT"]),
  ...because(
    "ledger verify looks for the next tenant, and for records that nothing is written about",
    ["namesItsTenant"],
    [
      'SELECT min(app_id) AS "appId" FROM ((SELECT app_id FROM journal',
      "ORDER BY t.reference OFFSET",
      "NOT EXISTS (SELECT 1 FROM journal w WHERE w.app_id = t.app_id AND w.reference = t.reference)"
    ]
  ),
  ...because(
    "audit verify reads everything that says who may do what, and so does the first start with seals",
    ["namesItsTenant"],
    [
      "CASE WHEN repeat_sales THEN 'allow' ELSE 'refuse' END AS",
      "SELECT 'limit ' || concat_ws('/', app_id, mode, direction, window_name) AS name",
      "SELECT 'cap ' || concat_ws('/', app_id, mode, direction, window_name, currency) AS name",
      'revoked_at IS NOT NULL AS "isRevoked" FROM api_keys ORDER BY app_id, key_id'
    ]
  ),
  ...because("an installation that has no key of its own yet", ["namesItsTenant"], ["EXISTS (SELECT 1 FROM api_keys)"]),
  ...because(
    "a new master key seals everything anew, with no gateway running",
    ["namesItsTenant"],
    ["signing_secret_sealed AS sealed", "secret_sealed AS sealed", "sealed_destination AS sealed", "sender_sealed AS sealed"]
  ),
  ...because(
    "review resolve writes its audit row in the same commit, and may take its time",
    ["callsDelegatedFunctionsInNoTransaction"],
    ["FROM apply_step_of_tenant("]
  ),
  ...because(
    "events of types that the release before does not know are delivered in the commit of their steps; they are few",
    ["callsDelegatedFunctionsInNoTransaction"],
    ["FROM apply_steps_of_tenant("]
  ),
  ...because(
    "a migration changes everybody's rows, a bounded number at a time",
    ["namesItsTenant"],
    ["app_id || '/' || mode AS place FROM webhook_endpoints"]
  ),
  ...because(
    "the few floats that have an alert; on Citus it is asked of one server at a time",
    ["namesItsTenant"],
    ["< alert_below_minor) <> alert_told  LIMIT"]
  ),
  ...because(
    "what operators look at",
    ["namesItsTenant"],
    [
      "FROM open_work WHERE needs_review ORDER BY created_at LIMIT",
      "failing_since FROM webhook_endpoints WHERE enabled AND failing_since IS NOT NULL",
      "FROM open_work w JOIN transactions t ON t.app_id = w.app_id AND t.reference = w.reference WHERE w.is_open ORDER BY w.created_at",
      "FROM open_work w JOIN transactions t ON t.app_id = w.app_id AND t.reference = w.reference WHERE (w.is_open OR w.needs_review)",
      "FROM float_positions WHERE receivable_minor > available_minor",
      "(SELECT app_id, mode FROM deliveries WHERE parked LIMIT",
      'created_at AS "createdAt" FROM tenants ORDER BY app_id',
      "SELECT t.reference, t.record, t.revision, t.created_at FROM transactions t WHERE t.created_at >= $1::timestamptz",
      "FROM open_work w JOIN transactions t ON w.needs_review AND t.app_id = w.app_id AND t.reference = w.reference WHERE t.created_at >= $1",
      "WHERE w.needs_review ORDER BY w.created_at, w.reference LIMIT",
      "SELECT record, revision FROM transactions WHERE provider = $1 AND mode = $2 AND created_at >= $3::timestamptz"
    ]
  )
]

/** Not sent on Citus as it is: there it is narrowed to one tenant, or to the tenants of one shard or server, or is another statement. */
const onOneServer: ReadonlyArray<Exception> = [
  ...because(
    "TenantFilter narrows it to the owner of the reference",
    ["namesItsTenant", "locksRowsOfOneTenant"],
    [
      "SELECT record, revision, traceparent FROM transactions WHERE reference = $1",
      "FROM transactions t JOIN transaction_history h ON h.app_id = t.app_id AND h.reference = t.reference WHERE t.reference = $1",
      "FROM transactions t JOIN open_work w ON w.app_id = t.app_id AND w.reference = t.reference WHERE t.reference = $1",
      "FROM transactions t JOIN journal j ON j.app_id = t.app_id AND j.reference = t.reference CROSS JOIN LATERAL",
      "(SELECT app_id, reference FROM transactions WHERE reference = $1 FOR UPDATE",
      "FROM transactions WHERE reference = $1",
      "WHERE t.reference = $2"
    ]
  ),
  ...because(
    "EveryTenant narrows it to the tenants of one server",
    ["namesItsTenant"],
    [
      "FROM tenants t JOIN deliveries d ON d.app_id = t.app_id AND d.id = $1",
      "UNION ALL SELECT 1 FROM named_due_deliveries WHERE true LIMIT $1) d) AS due",
      `AND flight."isAttempted" AND first.next_attempt_at < $2::timestamptz) AS count`,
      'AS "isThrownAway" FROM tenants WHERE true  LIMIT 1',
      'SELECT next_poll_at AS "dueAt" FROM open_work WHERE is_open',
      "FROM open_work w WHERE (w.app_id, w.reference) > ($1, $2) ORDER BY w.app_id, w.reference OFFSET $3 LIMIT 1",
      "(count(*) FILTER (WHERE w.is_open))::int AS open, (count(*) FILTER (WHERE NOT w.is_open))::int AS followed",
      "AS receivable FROM float_positions WHERE true GROUP BY mode, currency",
      "FROM provider_references p JOIN transactions t ON t.app_id = p.app_id AND t.reference = p.reference"
    ]
  ),
  ...because(
    "EveryTenant narrows it to the tenants of one shard",
    ["namesItsTenant", "locksRowsOfOneTenant", "insertsInNoCte"],
    [
      "WITH RECURSIVE owed AS",
      "WITH RECURSIVE step AS MATERIALIZED",
      "SELECT app_id, reference FROM open_work WHERE is_open AND next_poll_at <= $1::timestamptz",
      "SELECT expires_at FROM nonces WHERE expires_at <= $1::timestamptz",
      "SELECT app_id, key_id, nonce FROM nonces WHERE expires_at <= $1::timestamptz",
      "WITH since AS (UPDATE kept_since k",
      "WITH old AS MATERIALIZED ( SELECT",
      "SELECT min(created_at) AS at FROM transactions WHERE party_hash IS NOT NULL"
    ]
  ),
  ...because(
    "ledger verify goes through all tenants in steps on one server alone, and so it does with what changed",
    ["namesItsTenant"],
    [
      "WITH pairs AS MATERIALIZED",
      "WITH transactions AS MATERIALIZED (SELECT x.* FROM (SELECT app_id, reference FROM open_work)",
      "SELECT min(created_at) AS at FROM tenants",
      "SELECT count(*)::int AS lines FROM ( SELECT 1 FROM journal",
      "_at < $2::timestamptz OR $2::timestamptz = 'infinity'::timestamptz)) SELECT count(*) FROM",
      "at < $2::timestamptz OR $2::timestamptz = 'infinity'::timestamptz)) SELECT count(*) FROM transaction_history",
      ") SELECT (SELECT count(*) FROM deliveries",
      "SELECT min(app_id) AS name FROM ((SELECT app_id FROM journal",
      'AS name, app_id AS "appId", reference FROM (SELECT * FROM provider_references',
      ") AS w(app_id, reference) WHERE app_id IS NOT NULL AND reference IS NOT NULL ORDER BY 1, 2",
      "INSERT INTO position_folds AS f"
    ]
  ),
  ...because(
    "on Citus an operator names the tenant of whom something is looked for",
    ["namesItsTenant"],
    ['SELECT app_id AS "appId" FROM tenants WHERE app_id >', "SELECT t.* FROM (SELECT a.app_id, m.mode FROM unnest("]
  ),
  ...because(
    "BatchedRead asks for one tenant at a time",
    ["namesItsTenant"],
    [
      "AS w(app_id, key_id) CROSS JOIN LATERAL",
      "AS a(ord int, app_id text, mode text, reference text) CROSS JOIN LATERAL",
      "AS a(ord int, app_id text, mode text, reference text) LEFT JOIN LATERAL"
    ]
  )
]

/** Functions that are called only where all tables are on one server. */
export const functionsOnOneServer: ReadonlyArray<{ readonly name: string; readonly because: string }> = [
  { name: "use_windows", because: "open_steps alone calls it; on Citus use_windows_of_tenant is called" },
  { name: "arrive_at_once", because: "its batches span tenants; on Citus arrive_together_of_tenant is called" },
  { name: "open_steps", because: "its batches span tenants; on Citus open_steps_of_tenant is called" },
  { name: "write_events", because: "batches that span tenants call it; on Citus write_events_of_tenant is called" },
  { name: "apply_steps", because: "its batches span tenants; on Citus apply_steps_of_tenant is called" },
  { name: "claim_deliveries", because: "it claims of all tenants; on Citus statements of one shard are sent" },
  { name: "record_named_attempts", because: "as record_attempts, for endpoints that have a name" },
  { name: "record_attempts", because: "its batches span tenants; on Citus statements of one tenant are sent" },
  { name: "retire_events", because: "on Citus it is asked to drop months that are empty, and moves no row" },
  { name: "empty_revoked_keys", because: "a migration empties the secrets of all revoked keys with it once, and takes it away" },
  { name: "mend_reversed", because: "a migration reads all reversed records with it once, and takes it away" },
  { name: "fill_metadata_members", because: "a migration reads all records with it once, and takes it away" }
]

const words = (text: string): string => text.replaceAll(/\s+/g, " ").trim()

/** Of ledger verify: whole statements, of which a piece would let through others. */
const counts: ReadonlySet<string> = new Set(ledgerRules.map(({ counted }) => words(counted)))
const ofLedgerVerify: Exception = { text: "", rules: ["namesItsTenant"], because: "ledger verify counts everything" }

export const exceptionFor = (statement: string, isForCitus: boolean): Exception | undefined => {
  const own = words(statement)
  if (counts.has(own)) return ofLedgerVerify
  return [...ofAllTenants, ...(isForCitus ? [] : onOneServer)].find(({ text }) => own.includes(words(text)))
}
