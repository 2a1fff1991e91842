import type { ApplyStep } from "../../services/ports/FloatLedger.ts"
import { columnsOf, entries, journalValues, keyColumns, postingColumns, postingsOf, writtenColumns } from "./StepColumns.ts"
import type { Traced } from "./StepTracing.ts"

type Step = Traced<ApplyStep>

const steps = columnsOf<Step>(
  {
    ...keyColumns,
    ...writtenColumns,
    expected_revision: { type: "bigint", of: ({ expectedRevision }) => expectedRevision },
    wipe: { type: "boolean", of: ({ wipeDestination }) => wipeDestination },
    raw_request: { type: "text", of: ({ raw }) => raw?.request ?? null },
    raw_response: { type: "text", of: ({ raw }) => raw?.response ?? null },
    give_back: { type: "boolean", of: ({ restoreLimits }) => restoreLimits },
    accepted: { type: "boolean", of: ({ savesBeneficiary }) => savesBeneficiary },
    endpoint: { type: "text", of: ({ response }) => response?.claim.scope.endpoint ?? null },
    key: { type: "text", of: ({ response }) => response?.claim.scope.key ?? null },
    fence: { type: "bigint", of: ({ response }) => response?.claim.fence ?? null },
    answer_status: { type: "int", of: ({ response }) => response?.response.status ?? null },
    answer_body: { type: "text", of: ({ response }) => response?.response.body ?? null }
  },
  1
)

const postings = columnsOf(postingColumns, steps.next)

/** The statement's parameters for these steps. */
export const applyParameters = (all: ReadonlyArray<Step>): ReadonlyArray<unknown> => [
  ...steps.parameters(all),
  ...postings.parameters(postingsOf(all))
]

const parts = [
  // The steps of the batch, a row each, numbered from one.
  `step AS MATERIALIZED (
  SELECT * FROM ${steps.rows("s", ["app_id", "mode", "reference", "expected_revision", "wipe", "give_back", "accepted", "endpoint", "key", "fence"])}
)`,
  // Lock 1: the transactions, in the order of their keys.
  `locked AS MATERIALIZED (
  SELECT t.app_id, t.reference, t.revision, t.slots FROM transactions t
  WHERE (t.app_id, t.reference) IN (SELECT app_id, reference FROM step)
  ORDER BY t.app_id, t.reference FOR UPDATE OF t
)`,
  // Keeps the steps that were decided against the revision that stands there, one a transaction. All others are Stale, and
  // everything below writes for the kept ones alone.
  `applied AS MATERIALIZED (
  SELECT DISTINCT ON (s.app_id, s.reference) s.*, l.slots AS posted FROM step s JOIN locked l ON l.app_id = s.app_id AND l.reference = s.reference
  WHERE l.revision = s.expected_revision ORDER BY s.app_id, s.reference, s.ord
)`,
  // Lock 2: the key of the request that this step answers, where the request still holds it.
  `claim AS MATERIALIZED (
  SELECT k.app_id, k.mode, k.endpoint, k.key, a.ord FROM idempotency_keys k
  JOIN applied a ON k.app_id = a.app_id AND k.mode = a.mode AND k.endpoint = a.endpoint AND k.key = a.key
  WHERE k.state = 'pinned' AND k.fence = a.fence
  ORDER BY k.app_id, k.mode, k.endpoint, k.key FOR UPDATE OF k
)`,
  `-- A failed payout gives its count back to the windows that it was counted in; they never change once it is open.
given AS MATERIALIZED (
  SELECT n.app_id, n.mode, n.name, n.subject, n.starts_at, sum(n.amount) AS amount
  FROM applied a JOIN transactions t ON t.app_id = a.app_id AND t.reference = a.reference
  CROSS JOIN LATERAL json_to_recordset(t.counted) AS n(app_id text, mode text, name text, subject text, starts_at timestamptz, amount bigint)
  WHERE a.give_back GROUP BY n.app_id, n.mode, n.name, n.subject, n.starts_at
)`,
  // Lock 3: those windows. `(SELECT count(*) FROM claim) >= 0` is always true; it makes PostgreSQL take the locks above first. All
  // statements lock in one order, so that none deadlocks with another.
  `counter AS MATERIALIZED (
  SELECT c.app_id, c.mode, c.name, c.subject, c.starts_at, c.used, g.amount
  FROM given g JOIN counters c ON c.app_id = g.app_id AND c.mode = g.mode AND c.name = g.name AND c.subject = g.subject
    AND c.starts_at BETWEEN g.starts_at AND g.starts_at
  WHERE (SELECT count(*) FROM claim) >= 0
  ORDER BY c.app_id, c.mode, c.name, c.subject, c.starts_at FOR UPDATE OF c
)`,
  // Gives the count back; a window is never below zero.
  `uncounted AS (
  UPDATE counters c SET used = greatest(l.used - l.amount, 0) FROM counter l
  WHERE c.app_id = l.app_id AND c.mode = l.mode AND c.name = l.name AND c.subject = l.subject AND c.starts_at BETWEEN l.starts_at AND l.starts_at
)`,
  // The postings of the steps' entries.
  `line AS MATERIALIZED (
  SELECT p.step, a.app_id, a.mode, p.currency, p.account, p.amount
  FROM ${postings.rows("p", Object.keys(postingColumns))} JOIN applied a ON a.ord = p.step
)`,
  // What the postings change of each position, by account. Accounts that stand for the other side have the opposite sign.
  `delta AS MATERIALIZED (
  SELECT app_id, mode, currency,
    coalesce(sum(amount) FILTER (WHERE account = 'available'), 0) AS available,
    coalesce(sum(amount) FILTER (WHERE account = 'reserved'), 0) AS reserved,
    coalesce(sum(-amount) FILTER (WHERE account = 'collected'), 0) AS collected,
    coalesce(sum(amount) FILTER (WHERE account = 'paid_out'), 0) AS paid_out,
    coalesce(sum(amount) FILTER (WHERE account = 'provider_fees'), 0) AS provider_fees,
    coalesce(sum(-amount) FILTER (WHERE account = 'fx_in'), 0) AS fx_in,
    coalesce(sum(amount) FILTER (WHERE account = 'fx_out'), 0) AS fx_out,
    coalesce(sum(-amount) FILTER (WHERE account = 'returned'), 0) AS returned,
    coalesce(sum(-amount) FILTER (WHERE account = 'receivable'), 0) AS receivable
  FROM line GROUP BY app_id, mode, currency
)`,
  // Lock 4: those positions.
  `position AS MATERIALIZED (
  SELECT p.*, d.available, d.reserved, d.collected, d.paid_out, d.provider_fees, d.fx_in, d.fx_out, d.returned, d.receivable
  FROM delta d JOIN float_positions p ON p.app_id = d.app_id AND p.mode = d.mode AND p.currency = d.currency
  WHERE (SELECT count(*) FROM counter) >= 0
  ORDER BY p.app_id, p.mode, p.currency FOR UPDATE OF p
)`,
  // Writes the positions. Every column comes from the locked row, not from the snapshot of the statement, which may be older: PostgreSQL
  // checks a new row that it computes from its snapshot before it notices that the row has moved on.
  `moved AS (
  -- Every column comes from the locked row, as in the open statement.
  UPDATE float_positions p SET
    available_minor = l.available_minor + l.available,
    reserved_minor = l.reserved_minor + l.reserved,
    collected_minor = l.collected_minor + l.collected,
    paid_out_minor = l.paid_out_minor + l.paid_out,
    provider_fees_minor = l.provider_fees_minor + l.provider_fees,
    credited_minor = l.credited_minor,
    debited_minor = l.debited_minor,
    fx_in_minor = l.fx_in_minor + l.fx_in,
    fx_out_minor = l.fx_out_minor + l.fx_out,
    returned_minor = l.returned_minor + l.returned,
    receivable_minor = l.receivable_minor + l.receivable
  FROM position l WHERE p.app_id = l.app_id AND p.mode = l.mode AND p.currency = l.currency
  RETURNING p.app_id
)`,
  // Writes the record at its next revision.
  `written AS (
  UPDATE transactions t SET provider = ${steps.value("provider", "a.ord")}, status = ${steps.value("status", "a.ord")},
    needs_review = ${steps.value("needs_review", "a.ord")}, provider_reference = ${steps.value("provider_reference", "a.ord")},
    raw_request = CASE WHEN ${steps.value("raw_request", "a.ord")} IS NULL THEN t.raw_request ELSE ${steps.value("raw_request", "a.ord")} END,
    raw_response = CASE WHEN ${steps.value("raw_request", "a.ord")} IS NULL THEN t.raw_response ELSE ${steps.value("raw_response", "a.ord")} END,
    revision = t.revision + 1, record = ${steps.value("record", "a.ord")}::json,
    slots = CASE WHEN ${steps.value("slot", "a.ord")} IS NULL THEN t.slots ELSE t.slots || ${steps.value("slot", "a.ord")} END
  FROM applied a WHERE t.app_id = a.app_id AND t.reference = a.reference
  RETURNING t.app_id
)`,
  // What is left to do: nothing once the record is closed, is not polled any more and needs nobody. A later fact may bring work again.
  `left_to_do AS MATERIALIZED (
  SELECT a.*, ${steps.value("next_poll_at", "a.ord")} AS next_poll_at, ${steps.value("needs_review", "a.ord")} AS needs_review,
    ${steps.value("status", "a.ord")} IN ('pending', 'requires_action') AS is_open
  FROM applied a
)`,
  `finished AS (
  DELETE FROM open_work w USING left_to_do d WHERE NOT d.is_open AND NOT d.needs_review AND d.next_poll_at IS NULL AND w.app_id = d.app_id AND w.reference = d.reference
)`,
  // The sealed destination goes once it is not needed any more, the beneficiary once it was saved or the payout ended.
  `remaining AS (
  INSERT INTO open_work AS w (app_id, reference, mode, created_at, is_open, next_poll_at, needs_review, sealed_destination, beneficiary)
  SELECT d.app_id, d.reference, d.mode, t.created_at, d.is_open, d.next_poll_at, d.needs_review, CASE WHEN NOT d.wipe THEN o.sealed_destination END,
    CASE WHEN NOT (d.accepted OR d.wipe) THEN o.beneficiary END
  FROM left_to_do d JOIN transactions t ON t.app_id = d.app_id AND t.reference = d.reference
  LEFT JOIN open_work o ON o.app_id = d.app_id AND o.reference = d.reference
  WHERE d.is_open OR d.needs_review OR d.next_poll_at IS NOT NULL ORDER BY d.app_id, d.reference
  ON CONFLICT (app_id, reference) DO UPDATE SET is_open = EXCLUDED.is_open, next_poll_at = EXCLUDED.next_poll_at, lease_until = NULL, needs_review = EXCLUDED.needs_review,
    sealed_destination = EXCLUDED.sealed_destination, beneficiary = EXCLUDED.beneficiary
)`,
  // Whose a callback is that carries the provider's reference alone.
  `named AS (
  INSERT INTO provider_references (provider, mode, provider_reference, app_id, reference)
  SELECT ${steps.value("provider", "a.ord")}, a.mode, ${steps.value("provider_reference", "a.ord")}, a.app_id, a.reference
  FROM applied a JOIN transactions t ON t.app_id = a.app_id AND t.reference = a.reference
  WHERE ${steps.value("provider_reference", "a.ord")} IS NOT NULL
    AND (t.provider, t.provider_reference) IS DISTINCT FROM (${steps.value("provider", "a.ord")}, ${steps.value("provider_reference", "a.ord")})
  ORDER BY 1, 2, 3, 4, 5 ON CONFLICT DO NOTHING
)`,
  `-- The recipient of a payout that the provider accepted is a beneficiary from then on; one row a recipient and mode.
befriended AS (
  INSERT INTO beneficiaries (app_id, id, mode, party_hash, type, country, currency, network, bank_code, bank_name, account_name,
    masked_destination, created_at, last_used_at)
  SELECT DISTINCT ON (t.app_id, t.mode, t.party_hash) t.app_id, b.id, t.mode, t.party_hash, b.type, b.country, b.currency, b.network,
    b."bankCode", b."bankName", b."accountName", b."maskedDestination", ${steps.value("at", "a.ord")}, ${steps.value("at", "a.ord")}
  FROM applied a JOIN transactions t ON t.app_id = a.app_id AND t.reference = a.reference
  JOIN open_work w ON w.app_id = a.app_id AND w.reference = a.reference
  CROSS JOIN LATERAL json_to_record(w.beneficiary) AS b(id text, type text, country text, currency text, network text, "bankCode" text,
    "bankName" text, "accountName" text, "maskedDestination" text)
  WHERE a.accepted AND w.beneficiary IS NOT NULL AND t.party_hash IS NOT NULL
  ORDER BY t.app_id, t.mode, t.party_hash, a.ord
  ON CONFLICT (app_id, mode, party_hash) DO UPDATE SET last_used_at = EXCLUDED.last_used_at
)`,
  // Stores the response under the key: the same request again gets the same bytes.
  `answered AS (
  UPDATE idempotency_keys k SET state = 'done', answer_status = ${steps.value("answer_status", "c.ord")},
    answer_body = convert_to(${steps.value("answer_body", "c.ord")}, 'UTF8')
  FROM claim c WHERE k.app_id = c.app_id AND k.mode = c.mode AND k.endpoint = c.endpoint AND k.key = c.key
)`,
  // Writes the journal's row of each step, with the digests that `ledger verify` compares, and the entry, where there is one.
  `journaled AS (
  INSERT INTO journal (app_id, reference, revision, mode, at, actor, fact, note, status, slot, phase, currencies, accounts, amounts,
    record_digest, event_digest, answer_digest)
  SELECT a.app_id, a.reference, a.expected_revision + 1, a.mode, ${journalValues(steps, "a.ord")},
    answer_digest(a.endpoint, a.key, ${steps.value("answer_status", "a.ord")}, convert_to(${steps.value("answer_body", "a.ord")}, 'UTF8'))
  FROM applied a LEFT JOIN ${entries("line")} e ON e.step = a.ord
)`,
  // Writes the event that tells the tenant, in the same commit as what it tells.
  `told AS (
  INSERT INTO events (app_id, id, mode, type, reference, body, created_at)
  SELECT app_id, ${steps.value("event_id", "ord")}, mode, ${steps.value("event_type", "ord")}, reference, ${steps.value("event_body", "ord")},
    ${steps.value("at", "ord")}
  FROM applied WHERE ${steps.value("event_id", "ord")} IS NOT NULL
  RETURNING app_id, id, mode, type, created_at
)`,
  // Queues a delivery of it where the tenant's endpoint wants events of this type.
  `queued AS (
  INSERT INTO deliveries (app_id, id, mode, event_id, status, next_attempt_at, created_at)
  SELECT e.app_id, e.id, e.mode, e.id, 'due', e.created_at, e.created_at
  FROM told e JOIN webhook_endpoints w ON w.app_id = e.app_id AND w.mode = e.mode AND w.enabled AND e.type = ANY (w.events)
  RETURNING app_id, mode, next_attempt_at, id, created_at
)`,
  `waiting AS (
  INSERT INTO due_deliveries (app_id, mode, next_attempt_at, id, created_at) SELECT app_id, mode, next_attempt_at, id, created_at FROM queued
)`
]

/**
 * Applies a batch of facts, each to exactly the revision that it was decided against. Of two steps on one transaction in a batch only the
 * first is applied; the other is Stale and is decided again. One row a step comes back: whether it was applied. `refuse_commit` rolls the
 * whole batch back where a position or a record was not written, or where a slot would be posted twice. A window is found by
 * `starts_at BETWEEN x AND x`, which means `starts_at = x`; OpenRecordSql says why.
 */
export const applyFactSql = `
WITH ${parts.join(",\n")}
SELECT s.ord, a.ord IS NOT NULL AS applied,
  CASE
    WHEN EXISTS (SELECT FROM applied WHERE ${steps.value("slot", "ord")} = ANY (posted)) THEN refuse_commit('a slot was posted already')
    WHEN (SELECT count(*) FROM moved) <> (SELECT count(*) FROM delta) THEN refuse_commit('a position was not moved')
    WHEN (SELECT count(*) FROM written) <> (SELECT count(*) FROM applied) THEN refuse_commit('a record was not written')
  END AS proof
FROM step s LEFT JOIN applied a ON a.ord = s.ord ORDER BY s.ord`
