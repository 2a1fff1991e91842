import type { ApplyStep } from "../services/ports/FloatLedger.ts"
import { entryColumns, eventColumns, lineColumns, recordColumns } from "./OpenStatement.ts"

/** One apply step as the statement's JSON parameter holds it. */
export const applyColumns = (step: ApplyStep, ord: number) => ({
  ord,
  ...recordColumns(step.next, step.nextAskAt),
  expected_revision: step.expectedRevision.toString(),
  wipe: step.wipe,
  endpoint: step.answer?.claim.scope.endpoint ?? null,
  key: step.answer?.claim.scope.key ?? null,
  fence: step.answer?.claim.fence.toString() ?? null,
  answer_status: step.answer?.answer.status ?? null,
  answer_body: step.answer?.answer.body ?? null,
  ...entryColumns(step.entry),
  ...eventColumns(step.event),
  ...lineColumns(step.line)
})

/**
 * Applies a batch of facts, each to exactly the revision that it was decided against. Of two steps on one transaction in a batch only
 * the first in order is applied; the other is Stale and is decided again.
 */
export const applyStatement = `
WITH step AS MATERIALIZED (
  SELECT * FROM json_to_recordset($1::json) AS s(
    ord int, app_id text, mode text, reference text, status text, needs_review boolean, provider_reference text, record json,
    next_ask_at timestamptz, expected_revision bigint, wipe boolean, endpoint text, key text, fence bigint, answer_status int,
    answer_body text, slot text, phase text, postings json, event_id text, event_type text, event_body text, at timestamptz,
    actor text, fact text, note text)
),
locked AS MATERIALIZED (
  SELECT t.app_id, t.reference, t.revision FROM transactions t
  WHERE (t.app_id, t.reference) IN (SELECT app_id, reference FROM step)
  ORDER BY t.app_id, t.reference FOR UPDATE OF t
),
applied AS MATERIALIZED (
  SELECT DISTINCT ON (s.app_id, s.reference) s.* FROM step s JOIN locked l ON l.app_id = s.app_id AND l.reference = s.reference
  WHERE l.revision = s.expected_revision ORDER BY s.app_id, s.reference, s.ord
),
claim AS MATERIALIZED (
  SELECT k.app_id, k.mode, k.endpoint, k.key FROM idempotency_keys k
  JOIN applied a ON k.app_id = a.app_id AND k.mode = a.mode AND k.endpoint = a.endpoint AND k.key = a.key
  WHERE k.state = 'pinned' AND k.fence = a.fence
  ORDER BY k.app_id, k.mode, k.endpoint, k.key FOR UPDATE OF k
),
line AS MATERIALIZED (
  SELECT a.app_id, a.reference, a.slot, a.mode, p.currency, p.account, p.amount
  FROM applied a CROSS JOIN LATERAL json_to_recordset(a.postings) AS p(currency text, account text, amount bigint)
),
delta AS MATERIALIZED (
  SELECT app_id, mode, currency,
    coalesce(sum(amount) FILTER (WHERE account = 'available'), 0) AS available,
    coalesce(sum(amount) FILTER (WHERE account = 'reserved'), 0) AS reserved,
    coalesce(sum(-amount) FILTER (WHERE account = 'collected'), 0) AS collected,
    coalesce(sum(amount) FILTER (WHERE account = 'paid_out'), 0) AS paid_out,
    coalesce(sum(amount) FILTER (WHERE account = 'provider_fees'), 0) AS provider_fees,
    coalesce(sum(-amount) FILTER (WHERE account = 'returned'), 0) AS returned
  FROM line GROUP BY app_id, mode, currency
),
position AS MATERIALIZED (
  SELECT p.* FROM float_positions p
  WHERE (p.app_id, p.mode, p.currency) IN (SELECT app_id, mode, currency FROM delta) AND (SELECT count(*) FROM claim) >= 0
  ORDER BY p.app_id, p.mode, p.currency FOR UPDATE OF p
),
moved AS (
  -- Every column comes from the locked row, as in the open statement.
  UPDATE float_positions p SET
    available_minor = l.available_minor + d.available,
    reserved_minor = l.reserved_minor + d.reserved,
    collected_minor = l.collected_minor + d.collected,
    paid_out_minor = l.paid_out_minor + d.paid_out,
    provider_fees_minor = l.provider_fees_minor + d.provider_fees,
    credited_minor = l.credited_minor,
    debited_minor = l.debited_minor,
    fx_in_minor = l.fx_in_minor,
    fx_out_minor = l.fx_out_minor,
    returned_minor = l.returned_minor + d.returned
  FROM delta d JOIN position l ON l.app_id = d.app_id AND l.mode = d.mode AND l.currency = d.currency
  WHERE p.app_id = d.app_id AND p.mode = d.mode AND p.currency = d.currency
  RETURNING p.app_id
),
written AS (
  UPDATE transactions t SET status = a.status, needs_review = a.needs_review, provider_reference = a.provider_reference,
    revision = t.revision + 1, record = a.record, next_ask_at = a.next_ask_at, ask_lease_until = NULL,
    sealed_destination = CASE WHEN a.wipe THEN NULL ELSE t.sealed_destination END
  FROM applied a WHERE t.app_id = a.app_id AND t.reference = a.reference
  RETURNING t.app_id
),
answered AS (
  UPDATE idempotency_keys k SET state = 'done', answer_status = a.answer_status, answer_body = convert_to(a.answer_body, 'UTF8')
  FROM applied a JOIN claim c ON c.app_id = a.app_id AND c.mode = a.mode AND c.endpoint = a.endpoint AND c.key = a.key
  WHERE k.app_id = a.app_id AND k.mode = a.mode AND k.endpoint = a.endpoint AND k.key = a.key
),
noted AS (
  INSERT INTO transaction_history (app_id, reference, at, actor, fact, note, status)
  SELECT app_id, reference, at, actor, fact, note, status FROM applied
),
journaled AS (
  INSERT INTO journal (app_id, reference, slot, mode, phase, at) SELECT app_id, reference, slot, mode, phase, at FROM applied WHERE slot IS NOT NULL
),
posted AS (
  INSERT INTO postings (app_id, reference, slot, currency, account, mode, amount_minor)
  SELECT app_id, reference, slot, currency, account, mode, amount FROM line
),
told AS (
  INSERT INTO events (app_id, id, mode, type, reference, body, created_at)
  SELECT app_id, event_id, mode, event_type, reference, event_body, at FROM applied WHERE event_id IS NOT NULL
  RETURNING app_id, id, mode, type, created_at
),
queued AS (
  INSERT INTO deliveries (app_id, id, mode, event_id, status, next_attempt_at, created_at)
  SELECT e.app_id, e.id, e.mode, e.id, 'due', e.created_at, e.created_at
  FROM told e JOIN webhook_endpoints w ON w.app_id = e.app_id AND w.mode = e.mode AND w.enabled AND e.type = ANY (w.events)
)
SELECT s.ord, a.ord IS NOT NULL AS applied,
  CASE
    WHEN (SELECT count(*) FROM moved) <> (SELECT count(*) FROM delta) THEN refuse_commit('a position was not moved')
    WHEN (SELECT count(*) FROM written) <> (SELECT count(*) FROM applied) THEN refuse_commit('a record was not written')
  END AS proof
FROM step s LEFT JOIN applied a ON a.ord = s.ord ORDER BY s.ord`
