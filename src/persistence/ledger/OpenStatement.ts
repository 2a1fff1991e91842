import { lines, needs, steps, windows } from "./OpenColumns.ts"
import { digests } from "./StepColumns.ts"

/**
 * Opens a batch of transactions as if they had come one after another in the order of `ord`: each checks its key's fence and its
 * tenant, and then all of its windows and its float are folded over the steps in order, so that a step that does not fit leaves room for
 * the next.
 * Only rows read through the locks are fresh; that is why the verdicts read nothing else.
 *
 * Its plan is made once, for batches of any size, and PostgreSQL expects few rows of a batch: that finds rows by their keys, also while
 * a table is small, and would compare the parts of a large batch each row with each. So these are matched by numbers, through NOT IN and
 * FULL JOIN, which hash. `starts_at BETWEEN x AND x` is `starts_at = x`, said so that no plan looks a window up by its hour, which it has in
 * common with all the others: in a table that was never analysed that index looks as good as the key.
 */
export const openStatement = `
WITH step AS MATERIALIZED (
  SELECT * FROM ${steps.rows("s", ["app_id", "mode", "reference", "currency", "held", "endpoint", "key", "fence", "party_hash", "guarded", "payer_holder"])}
),
claim AS MATERIALIZED (
  SELECT s.ord, k.fence, k.state
  FROM idempotency_keys k JOIN step s ON k.app_id = s.app_id AND k.mode = s.mode AND k.endpoint = s.endpoint AND k.key = s.key
  ORDER BY k.app_id, k.mode, k.endpoint, k.key FOR UPDATE OF k
),
tenant AS MATERIALIZED (
  SELECT t.app_id, t.status FROM tenants t
  WHERE t.app_id IN (SELECT app_id FROM step) AND (SELECT count(*) FROM claim) >= 0
  ORDER BY t.app_id FOR SHARE OF t
),
-- The newest charge of each number that is to be charged: the guard's last word (contract GUARD-6).
payer AS MATERIALIZED (
  SELECT l.app_id, l.mode, l.party_hash, l.reference, l.recent FROM payer_locks l
  WHERE (l.app_id, l.mode, l.party_hash) IN (SELECT app_id, mode, party_hash FROM step WHERE guarded)
    AND (SELECT count(*) FROM tenant) >= 0
  ORDER BY l.app_id, l.mode, l.party_hash FOR UPDATE OF l
),
counter AS MATERIALIZED (
  SELECT w.ord AS number, c.app_id, c.mode, c.name, c.subject, c.starts_at, c.used
  FROM ${windows.rows("w", ["app_id", "mode", "name", "subject", "starts_at"])}
  JOIN counters c ON c.app_id = w.app_id AND c.mode = w.mode AND c.name = w.name AND c.subject = w.subject
    AND c.starts_at BETWEEN w.starts_at AND w.starts_at
  WHERE (SELECT count(*) FROM payer) >= 0
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
  LEFT JOIN claim c ON c.ord = s.ord
  LEFT JOIN tenant t ON t.app_id = s.app_id
  LEFT JOIN payer l ON l.app_id = s.app_id AND l.mode = s.mode AND l.party_hash = s.party_hash
  LEFT JOIN position p ON p.app_id = s.app_id AND p.mode = s.mode AND p.currency = s.currency
),
-- What each step that is not refused yet needs, of a window or, after its windows, of its position: places in "used" below.
need AS MATERIALIZED (
  SELECT n.step, n.pos, n.counter AS resource, n.amount, n.bound
  FROM ${needs.rows("n", ["step", "pos", "counter", "amount", "bound"])}
  WHERE n.step NOT IN (SELECT ord FROM judged WHERE refusal IS NOT NULL)
  UNION ALL
  SELECT ord::int, 1000, (${windows.count} + dense_rank() OVER (ORDER BY app_id, mode, currency))::int, held, available
  FROM judged WHERE refusal IS NULL AND held > 0
),
fold AS MATERIALIZED (
  SELECT f.step, f.remaining, a.poses[f.failed] AS failed
  FROM (
    SELECT array_agg(step ORDER BY step, pos) AS steps, array_agg(resource ORDER BY step, pos) AS resources,
      array_agg(amount ORDER BY step, pos) AS amounts, array_agg(bound ORDER BY step, pos) AS bounds, array_agg(pos ORDER BY step, pos) AS poses,
      (SELECT array_agg(coalesce(c.used, 0) ORDER BY r.number)
        FROM generate_series(1, ${windows.count} + ${steps.count}) r(number) FULL JOIN counter c ON c.number = r.number) AS used
    FROM need
  ) a CROSS JOIN LATERAL fold_needs(a.used, a.steps, a.resources, a.amounts, a.bounds) f
),
verdict AS MATERIALIZED (
  SELECT j.ord, coalesce(j.refusal, CASE WHEN f.failed IS NULL THEN 'Opened' WHEN f.failed = 1000 THEN 'ShortFloat' ELSE 'OverCap' END) AS verdict,
    CASE WHEN f.failed = 1000 THEN f.remaining ELSE j.available END AS available, coalesce(f.failed, 0)::int AS failed
  FROM judged j LEFT JOIN fold f ON f.step = j.ord
),
opened AS MATERIALIZED (SELECT * FROM step WHERE ord NOT IN (SELECT ord FROM verdict WHERE verdict <> 'Opened')),
inserted AS (
  INSERT INTO transactions (app_id, reference, mode, kind, status, needs_review, provider, provider_reference, revision, record,
    party_hash, sealed_destination, next_ask_at, created_at, counted, beneficiary, traceparent)
  SELECT app_id, reference, mode, ${steps.value("kind", "ord")}, ${steps.value("status", "ord")}, ${steps.value("needs_review", "ord")},
    ${steps.value("provider", "ord")}, ${steps.value("provider_reference", "ord")}, 1, ${steps.value("record", "ord")}::json,
    party_hash, ${steps.value("sealed_destination", "ord")}, ${steps.value("next_ask_at", "ord")}, ${steps.value("at", "ord")},
    ${steps.value("counted", "ord")}::json, ${steps.value("beneficiary", "ord")}::json, ${steps.value("traceparent", "ord")}
  FROM opened
  RETURNING app_id
),
taken AS MATERIALIZED (
  SELECT c.*, t.amount
  FROM counter c FULL JOIN (
    SELECT resource, sum(amount) AS amount FROM need
    WHERE pos < 1000 AND step NOT IN (SELECT ord FROM verdict WHERE verdict <> 'Opened') GROUP BY resource
  ) t ON t.resource = c.number
),
counted AS (
  UPDATE counters c SET used = t.used + t.amount FROM taken t
  WHERE c.app_id = t.app_id AND c.mode = t.mode AND c.name = t.name AND c.subject = t.subject AND c.starts_at BETWEEN t.starts_at AND t.starts_at
    AND t.amount IS NOT NULL
),
charging AS (
  UPDATE payer_locks l SET reference = o.reference, at = ${steps.value("at", "o.ord")},
    recent = add_charge(p.recent, o.reference, ${steps.value("at", "o.ord")})
  FROM opened o JOIN payer p ON p.app_id = o.app_id AND p.mode = o.mode AND p.party_hash = o.party_hash
  WHERE o.guarded AND l.app_id = o.app_id AND l.mode = o.mode AND l.party_hash = o.party_hash
),
linked AS (
  UPDATE idempotency_keys k SET state = 'pinned', reference = o.reference FROM opened o
  WHERE k.app_id = o.app_id AND k.mode = o.mode AND k.endpoint = o.endpoint AND k.key = o.key AND k.fence = o.fence AND k.state = 'claimed'
  RETURNING k.app_id
),
noted AS (
  INSERT INTO transaction_history (app_id, reference, at, actor, fact, note, status, record_digest, event_digest)
  SELECT app_id, reference, ${steps.value("at", "ord")}, ${steps.value("actor", "ord")}, ${steps.value("fact", "ord")}, ${steps.value("note", "ord")},
    ${steps.value("status", "ord")}, ${digests(steps)}
  FROM opened ORDER BY ord
),
journaled AS (
  INSERT INTO journal (app_id, reference, slot, mode, phase, at)
  SELECT app_id, reference, ${steps.value("slot", "ord")}, mode, ${steps.value("phase", "ord")}, ${steps.value("at", "ord")}
  FROM opened WHERE ${steps.value("slot", "ord")} IS NOT NULL
),
line AS MATERIALIZED (
  SELECT ${steps.value("app_id", "step")} AS app_id, ${steps.value("reference", "step")} AS reference, ${steps.value("slot", "step")} AS slot,
    ${steps.value("mode", "step")} AS mode, currency, account, amount, ${steps.value("at", "step")} AS at
  FROM ${lines.rows("p", ["step", "currency", "account", "amount"])}
  WHERE step NOT IN (SELECT ord FROM verdict WHERE verdict <> 'Opened')
),
posted AS (
  INSERT INTO postings (app_id, reference, slot, currency, account, mode, amount_minor, at)
  SELECT app_id, reference, slot, currency, account, mode, amount, at FROM line
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
  SELECT DISTINCT app_id, mode, ${steps.value("credited_currency", "ord")} FROM opened
  WHERE ${steps.value("credited_currency", "ord")} IS NOT NULL ORDER BY 1, 2, 3 ON CONFLICT DO NOTHING
),
told AS (
  INSERT INTO events (app_id, id, mode, type, reference, body, created_at)
  SELECT app_id, ${steps.value("event_id", "ord")}, mode, ${steps.value("event_type", "ord")}, reference, ${steps.value("event_body", "ord")},
    ${steps.value("at", "ord")}
  FROM opened WHERE ${steps.value("event_id", "ord")} IS NOT NULL
  RETURNING app_id, id, mode, type, created_at
),
queued AS (
  INSERT INTO deliveries (app_id, id, mode, event_id, status, next_attempt_at, created_at)
  SELECT e.app_id, e.id, e.mode, e.id, 'due', e.created_at, e.created_at
  FROM told e JOIN webhook_endpoints w ON w.app_id = e.app_id AND w.mode = e.mode AND w.enabled AND e.type = ANY (w.events)
)
SELECT v.ord, v.verdict, v.available, v.failed,
  CASE
    WHEN EXISTS (SELECT FROM taken WHERE number IS NULL) THEN refuse_commit('a window was not prepared')
    WHEN (SELECT count(*) FROM linked) <> (SELECT count(*) FROM inserted) THEN refuse_commit('a key was not linked')
    WHEN (SELECT count(*) FROM moved) <> (SELECT count(*) FROM delta) THEN refuse_commit('a position was not moved')
  END AS proof
FROM verdict v ORDER BY v.ord`
