import type { LedgerRecord } from "../domain/Exchange.ts"
import { iso } from "../domain/Instant.ts"
import type { Counter } from "../domain/Limits.ts"
import type { OpenStep } from "../services/ports/FloatLedger.ts"
import { entryColumns, eventColumns, lineColumns, recordColumns } from "./StepColumns.ts"

const hex = (bytes: Uint8Array | null): string | null => (bytes === null ? null : Buffer.from(bytes).toString("hex"))

const heldBy = (record: LedgerRecord): bigint => {
  switch (record.kind) {
    case "collection":
      return 0n
    case "payout":
      return record.principal + record.heldFee
    case "exchange":
      return record.amount
  }
}

/** The position that its success will credit; null where nothing comes in. */
const creditedBy = (record: LedgerRecord): string | null =>
  record.kind === "exchange" ? record.destinationCurrency : record.kind === "collection" ? record.currency : null

/** One open step as the statement's JSON parameter holds it. */
export const openColumns = (step: OpenStep, ord: number) => ({
  ord,
  ...recordColumns(step.transaction, step.nextAskAt),
  kind: step.transaction.kind,
  currency: step.transaction.currency,
  held: heldBy(step.transaction).toString(),
  credited_currency: creditedBy(step.transaction),
  endpoint: step.claim.scope.endpoint,
  key: step.claim.scope.key,
  fence: step.claim.fence.toString(),
  sealed_destination: hex(step.sealedDestination),
  party_hash: hex(step.partyHash),
  guarded: step.payer !== undefined,
  payer_holder: step.payer?.holder ?? null,
  counters: step.counters.map(counterColumns),
  beneficiary: step.beneficiary,
  ...entryColumns(step.entry),
  ...eventColumns(step.event),
  ...lineColumns(step.line)
})

const counterColumns = ({ amount, appId, bound, mode, name, startsAt, subject }: Counter) => ({
  app_id: appId,
  mode,
  name,
  subject,
  starts_at: iso(startsAt),
  amount: amount.toString(),
  bound: bound.toString()
})

/**
 * Opens a batch of transactions as if they had come one after another in the order of `ord`: each checks its key's fence and its
 * tenant, and then all of its windows and its float are folded over the steps in order, so that a step that does not fit leaves room for
 * the next.
 * Only rows read through the locks are fresh; that is why the verdicts read nothing else.
 */
export const openStatement = `
WITH step AS MATERIALIZED (
  SELECT * FROM json_to_recordset($1::json) AS s(
    ord int, app_id text, mode text, reference text, kind text, status text, needs_review boolean, provider text, provider_reference text,
    record json, next_ask_at timestamptz, traceparent text, currency text, held bigint, credited_currency text, endpoint text, key text, fence bigint, sealed_destination text,
    party_hash text, guarded boolean, payer_holder text, counters json, beneficiary json, slot text, phase text, postings json, event_id text, event_type text, event_body text, at timestamptz, actor text,
    fact text, note text)
),
claim AS MATERIALIZED (
  SELECT k.app_id, k.mode, k.endpoint, k.key, k.fence, k.state
  FROM idempotency_keys k JOIN step s ON k.app_id = s.app_id AND k.mode = s.mode AND k.endpoint = s.endpoint AND k.key = s.key
  ORDER BY k.app_id, k.mode, k.endpoint, k.key FOR UPDATE OF k
),
tenant AS MATERIALIZED (
  SELECT t.app_id, t.status FROM tenants t
  WHERE t.app_id IN (SELECT app_id FROM step) AND (SELECT count(*) FROM claim) >= 0
  ORDER BY t.app_id FOR SHARE OF t
),
-- The newest charge of each number that is to be charged: the guard's last word (decisions.md section 2).
payer AS MATERIALIZED (
  SELECT l.app_id, l.mode, l.party_hash, l.reference FROM payer_locks l
  WHERE (l.app_id, l.mode, l.party_hash) IN (SELECT app_id, mode, decode(party_hash, 'hex') FROM step WHERE guarded)
    AND (SELECT count(*) FROM tenant) >= 0
  ORDER BY l.app_id, l.mode, l.party_hash FOR UPDATE OF l
),
-- What each step needs of which window; "pos" is its place in the order of refusals, and the float comes last.
counter_need AS MATERIALIZED (
  SELECT s.ord, n.pos, n.app_id, n.mode, n.name, n.subject, n.starts_at, n.amount, n.bound
  FROM step s CROSS JOIN LATERAL ROWS FROM (json_to_recordset(s.counters) AS (
    app_id text, mode text, name text, subject text, starts_at timestamptz, amount bigint, bound bigint)) WITH ORDINALITY
    AS n(app_id, mode, name, subject, starts_at, amount, bound, pos)
),
counter AS MATERIALIZED (
  SELECT c.app_id, c.mode, c.name, c.subject, c.starts_at, c.used FROM counters c
  WHERE (c.app_id, c.mode, c.name, c.subject, c.starts_at) IN (SELECT app_id, mode, name, subject, starts_at FROM counter_need)
    AND (SELECT count(*) FROM payer) >= 0
  ORDER BY c.app_id, c.mode, c.name, c.subject, c.starts_at FOR UPDATE OF c
),
position AS MATERIALIZED (
  SELECT p.* FROM float_positions p
  WHERE (p.app_id, p.mode, p.currency) IN (SELECT app_id, mode, currency FROM step WHERE held > 0) AND (SELECT count(*) FROM counter) >= 0
  ORDER BY p.app_id, p.mode, p.currency FOR UPDATE OF p
),
judged AS MATERIALIZED (
  SELECT s.ord, s.app_id, s.mode, s.currency, s.held, coalesce(greatest(p.available_minor - p.receivable_minor, 0), 0) AS available,
    CASE
      WHEN c.fence IS DISTINCT FROM s.fence OR c.state IS DISTINCT FROM 'claimed' THEN 'ClaimLost'
      WHEN t.status IS DISTINCT FROM 'active' THEN 'Frozen'
      WHEN s.guarded AND (l.app_id IS NULL OR l.reference IS DISTINCT FROM s.payer_holder) THEN 'PayerBusy'
      -- Of the steps of one batch only the first charges a number.
      WHEN s.guarded AND row_number() OVER (PARTITION BY s.app_id, s.mode, s.guarded, s.party_hash ORDER BY s.ord) > 1 THEN 'PayerBusy'
    END AS refusal
  FROM step s
  LEFT JOIN claim c ON c.app_id = s.app_id AND c.mode = s.mode AND c.endpoint = s.endpoint AND c.key = s.key
  LEFT JOIN tenant t ON t.app_id = s.app_id
  LEFT JOIN payer l ON l.app_id = s.app_id AND l.mode = s.mode AND l.party_hash = decode(s.party_hash, 'hex')
  LEFT JOIN position p ON p.app_id = s.app_id AND p.mode = s.mode AND p.currency = s.currency
),
need AS MATERIALIZED (
  SELECT n.ord, n.pos, concat_ws('|', 'counter', n.app_id, n.mode, n.name, n.subject, n.starts_at) AS resource, c.used, n.amount, n.bound
  FROM counter_need n JOIN judged j ON j.ord = n.ord AND j.refusal IS NULL
  LEFT JOIN counter c ON c.app_id = n.app_id AND c.mode = n.mode AND c.name = n.name AND c.subject = n.subject AND c.starts_at = n.starts_at
  UNION ALL
  SELECT ord, 1000, concat_ws('|', 'position', app_id, mode, currency), 0, held, available FROM judged WHERE refusal IS NULL AND held > 0
),
numbered AS MATERIALIZED (SELECT ord, pos, dense_rank() OVER (ORDER BY resource) AS resource, used, amount, bound FROM need),
fold AS MATERIALIZED (
  SELECT f.step, f.remaining, a.poses[f.failed] AS failed
  FROM (
    SELECT array_agg(ord ORDER BY ord, pos) AS steps, array_agg(resource::int ORDER BY ord, pos) AS resources,
      array_agg(amount ORDER BY ord, pos) AS amounts, array_agg(bound ORDER BY ord, pos) AS bounds, array_agg(pos ORDER BY ord, pos) AS poses,
      (SELECT array_agg(used ORDER BY resource) FROM (SELECT DISTINCT resource, used FROM numbered) AS used_now) AS used
    FROM numbered
  ) a CROSS JOIN LATERAL fold_needs(a.used, a.steps, a.resources, a.amounts, a.bounds) f
),
verdict AS MATERIALIZED (
  SELECT j.ord, coalesce(j.refusal, CASE WHEN f.failed IS NULL THEN 'Opened' WHEN f.failed = 1000 THEN 'ShortFloat' ELSE 'OverCap' END) AS verdict,
    CASE WHEN f.failed = 1000 THEN f.remaining ELSE j.available END AS available, coalesce(f.failed, 0)::int AS failed
  FROM judged j LEFT JOIN fold f ON f.step = j.ord
),
opened AS MATERIALIZED (SELECT s.* FROM step s JOIN verdict v ON v.ord = s.ord WHERE v.verdict = 'Opened'),
inserted AS (
  INSERT INTO transactions (app_id, reference, mode, kind, status, needs_review, provider, provider_reference, revision, record,
    party_hash, sealed_destination, next_ask_at, created_at, counted, beneficiary, traceparent)
  SELECT app_id, reference, mode, kind, status, needs_review, provider, provider_reference, 1, record,
    decode(party_hash, 'hex'), decode(sealed_destination, 'hex'), next_ask_at, at, counters, nullif(beneficiary::text, 'null')::json, traceparent FROM opened
  RETURNING app_id
),
counted AS (
  UPDATE counters c SET used = l.used + u.amount
  FROM (
    SELECT n.app_id, n.mode, n.name, n.subject, n.starts_at, sum(n.amount) AS amount
    FROM counter_need n JOIN opened o ON o.ord = n.ord GROUP BY n.app_id, n.mode, n.name, n.subject, n.starts_at
  ) u JOIN counter l ON l.app_id = u.app_id AND l.mode = u.mode AND l.name = u.name AND l.subject = u.subject AND l.starts_at = u.starts_at
  WHERE c.app_id = u.app_id AND c.mode = u.mode AND c.name = u.name AND c.subject = u.subject AND c.starts_at BETWEEN u.starts_at AND u.starts_at
),
charging AS (
  UPDATE payer_locks l SET reference = o.reference, at = o.at FROM opened o
  WHERE o.guarded AND l.app_id = o.app_id AND l.mode = o.mode AND l.party_hash = decode(o.party_hash, 'hex')
),
linked AS (
  UPDATE idempotency_keys k SET state = 'pinned', reference = o.reference FROM opened o
  WHERE k.app_id = o.app_id AND k.mode = o.mode AND k.endpoint = o.endpoint AND k.key = o.key AND k.fence = o.fence AND k.state = 'claimed'
  RETURNING k.app_id
),
noted AS (
  INSERT INTO transaction_history (app_id, reference, at, actor, fact, note, status)
  SELECT app_id, reference, at, actor, fact, note, status FROM opened ORDER BY ord
),
journaled AS (
  INSERT INTO journal (app_id, reference, slot, mode, phase, at) SELECT app_id, reference, slot, mode, phase, at FROM opened WHERE slot IS NOT NULL
),
line AS MATERIALIZED (
  SELECT o.app_id, o.reference, o.slot, o.mode, p.currency, p.account, p.amount
  FROM opened o CROSS JOIN LATERAL json_to_recordset(o.postings) AS p(currency text, account text, amount bigint)
),
posted AS (
  INSERT INTO postings (app_id, reference, slot, currency, account, mode, amount_minor)
  SELECT app_id, reference, slot, currency, account, mode, amount FROM line
),
delta AS (
  SELECT app_id, mode, currency, sum(amount) FILTER (WHERE account = 'available') AS available,
    sum(amount) FILTER (WHERE account = 'reserved') AS reserved
  FROM line GROUP BY app_id, mode, currency
),
moved AS (
  -- Every column comes from the locked row. PostgreSQL checks the new row that it computes from its snapshot before it notices that the
  -- row has moved on, so that a payout which a concurrent credit made affordable would break the CHECK.
  UPDATE float_positions p SET
    available_minor = l.available_minor + d.available,
    reserved_minor = l.reserved_minor + d.reserved,
    collected_minor = l.collected_minor,
    paid_out_minor = l.paid_out_minor,
    provider_fees_minor = l.provider_fees_minor,
    credited_minor = l.credited_minor,
    debited_minor = l.debited_minor,
    fx_in_minor = l.fx_in_minor,
    fx_out_minor = l.fx_out_minor,
    returned_minor = l.returned_minor,
    receivable_minor = l.receivable_minor
  FROM delta d JOIN position l ON l.app_id = d.app_id AND l.mode = d.mode AND l.currency = d.currency
  WHERE p.app_id = d.app_id AND p.mode = d.mode AND p.currency = d.currency
  RETURNING p.app_id
),
-- A collection and an exchange credit a position when they settle: its row has to be there by then.
prepared AS (
  INSERT INTO float_positions (app_id, mode, currency)
  SELECT DISTINCT app_id, mode, credited_currency FROM opened WHERE credited_currency IS NOT NULL
  ORDER BY app_id, mode, credited_currency ON CONFLICT DO NOTHING
),
told AS (
  INSERT INTO events (app_id, id, mode, type, reference, body, created_at)
  SELECT app_id, event_id, mode, event_type, reference, event_body, at FROM opened WHERE event_id IS NOT NULL
  RETURNING app_id, id, mode, type, created_at
),
queued AS (
  INSERT INTO deliveries (app_id, id, mode, event_id, status, next_attempt_at, created_at)
  SELECT e.app_id, e.id, e.mode, e.id, 'due', e.created_at, e.created_at
  FROM told e JOIN webhook_endpoints w ON w.app_id = e.app_id AND w.mode = e.mode AND w.enabled AND e.type = ANY (w.events)
)
SELECT v.ord, v.verdict, v.available, v.failed,
  CASE
    WHEN EXISTS (SELECT FROM need WHERE used IS NULL) THEN refuse_commit('a window was not prepared')
    WHEN (SELECT count(*) FROM linked) <> (SELECT count(*) FROM inserted) THEN refuse_commit('a key was not linked')
    WHEN (SELECT count(*) FROM moved) <> (SELECT count(*) FROM delta) THEN refuse_commit('a position was not moved')
  END AS proof
FROM verdict v ORDER BY v.ord`
