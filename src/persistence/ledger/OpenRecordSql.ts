import { needs, postings, steps, windows } from "./OpenColumns.ts"
import { entries, journalValues } from "./StepColumns.ts"

// Only rows that are read through a lock are fresh; that is why the verdicts read nothing else.
//
// The plan is made once, for batches of any size, and PostgreSQL expects few rows in a batch. So it finds rows by their keys, also while a
// table is small, but it would compare the rows of a large batch each with each. Those are therefore matched by numbers, through NOT IN and
// FULL JOIN, which hash. `starts_at BETWEEN x AND x` means `starts_at = x`. With "=" a plan for a table that was never analysed would look a
// window up by its hour, which it shares with all the others, instead of by its key.

/**
 * The place of the float among the needs of a step. Limits have the places from 1 on, and no step has as many: the float is checked last, and
 * a need that fails at this place means ShortFloat, at any other OverCap.
 */
const FLOAT_PLACE = 1000

const parts = [
  // The steps of the batch, a row each, numbered from one. Only what rows are matched by is carried along; long values are
  // read from the parameters where they are written.
  `step AS MATERIALIZED (
  SELECT * FROM ${steps.rows("s", ["app_id", "mode", "reference", "currency", "held", "endpoint", "key", "fence", "party_hash", "guarded", "payer_holder"])}
)`,
  // Lock 1: each step's idempotency key. Its fence and state say whether the request still holds its claim.
  `claim AS MATERIALIZED (
  SELECT s.ord, k.fence, k.state
  FROM idempotency_keys k JOIN step s ON k.app_id = s.app_id AND k.mode = s.mode AND k.endpoint = s.endpoint AND k.key = s.key
  ORDER BY k.app_id, k.mode, k.endpoint, k.key FOR UPDATE OF k
)`,
  // Lock 2: the tenants, shared. A freeze either waits for this commit or is seen here.
  // `(SELECT count(*) FROM claim) >= 0` is always true. It makes PostgreSQL take the locks above first: all statements lock in one
  // order, so that none deadlocks with another. The same stands in the parts below.
  `tenant AS MATERIALIZED (
  SELECT t.app_id, t.status FROM tenants t
  WHERE t.app_id IN (SELECT app_id FROM step) AND (SELECT count(*) FROM claim) >= 0
  ORDER BY t.app_id FOR SHARE OF t
)`,
  // Lock 3: the row of each number that is to be charged, so that two requests for one number come one after the other.
  `-- The newest charge of each number that is to be charged: the guard's last word (contract GUARD-6).
payer AS MATERIALIZED (
  SELECT l.app_id, l.mode, l.party_hash, l.reference, l.recent FROM payer_locks l
  WHERE (l.app_id, l.mode, l.party_hash) IN (SELECT app_id, mode, party_hash FROM step WHERE guarded)
    AND (SELECT count(*) FROM tenant) >= 0
  ORDER BY l.app_id, l.mode, l.party_hash FOR UPDATE OF l
)`,
  // Lock 4: the windows of limits and ceilings that the steps count in, with what is used of each.
  `counter AS MATERIALIZED (
  SELECT w.ord AS number, c.app_id, c.mode, c.name, c.subject, c.starts_at, c.used
  FROM ${windows.rows("w", ["app_id", "mode", "name", "subject", "starts_at"])}
  JOIN counters c ON c.app_id = w.app_id AND c.mode = w.mode AND c.name = w.name AND c.subject = w.subject
    AND c.starts_at BETWEEN w.starts_at AND w.starts_at
  WHERE (SELECT count(*) FROM payer) >= 0
  ORDER BY c.app_id, c.mode, c.name, c.subject, c.starts_at FOR UPDATE OF c
)`,
  // Lock 5: the float positions that the steps reserve from.
  `position AS MATERIALIZED (
  SELECT p.* FROM float_positions p
  WHERE (p.app_id, p.mode, p.currency) IN (SELECT app_id, mode, currency FROM step WHERE held > 0) AND (SELECT count(*) FROM counter) >= 0
  ORDER BY p.app_id, p.mode, p.currency FOR UPDATE OF p
)`,
  // Refuses what the locked rows rule out, first refusal first, and reads how much each step may draw: what is available less
  // what the tenant owes.
  `judged AS MATERIALIZED (
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
)`,
  // The amount of the position comes last, at FLOAT_PLACE; positions get the numbers after those of the windows.
  `-- What each step that is not refused yet needs, of a window or, after its windows, of its position: places in "used" below.
need AS MATERIALIZED (
  SELECT n.step, n.pos, n.counter AS resource, n.amount, n.bound
  FROM ${needs.rows("n", ["step", "pos", "counter", "amount", "bound"])}
  WHERE n.step NOT IN (SELECT ord FROM judged WHERE refusal IS NOT NULL)
  UNION ALL
  SELECT ord::int, ${FLOAT_PLACE}, (${windows.count} + dense_rank() OVER (ORDER BY app_id, mode, currency))::int, held, available
  FROM judged WHERE refusal IS NULL AND held > 0
)`,
  // Goes through the needs step by step. A step takes all that it needs or nothing (fold_needs, in 0001_ledger); a refused one
  // leaves room for the next. `failed` is the place of its first need that did not fit.
  `fold AS MATERIALIZED (
  SELECT f.step, f.remaining, a.poses[f.failed] AS failed
  FROM (
    SELECT array_agg(step ORDER BY step, pos) AS steps, array_agg(resource ORDER BY step, pos) AS resources,
      array_agg(amount ORDER BY step, pos) AS amounts, array_agg(bound ORDER BY step, pos) AS bounds, array_agg(pos ORDER BY step, pos) AS poses,
      (SELECT array_agg(coalesce(c.used, 0) ORDER BY r.number)
        FROM generate_series(1, ${windows.count} + ${steps.count}) r(number) FULL JOIN counter c ON c.number = r.number) AS used
    FROM need
  ) a CROSS JOIN LATERAL fold_needs(a.used, a.steps, a.resources, a.amounts, a.bounds) f
)`,
  // One verdict a step. A need that failed at FLOAT_PLACE is the float, at any other place a limit.
  `verdict AS MATERIALIZED (
  SELECT j.ord, coalesce(j.refusal, CASE WHEN f.failed IS NULL THEN 'Opened' WHEN f.failed = ${FLOAT_PLACE} THEN 'ShortFloat' ELSE 'OverCap' END) AS verdict,
    CASE WHEN f.failed = ${FLOAT_PLACE} THEN f.remaining ELSE j.available END AS available, coalesce(f.failed, 0)::int AS failed
  FROM judged j LEFT JOIN fold f ON f.step = j.ord
)`,
  // The steps that are opened; everything below writes for these alone.
  `opened AS MATERIALIZED (SELECT * FROM step WHERE ord NOT IN (SELECT ord FROM verdict WHERE verdict <> 'Opened'))`,
  // Writes the record, at revision 1.
  `inserted AS (
  INSERT INTO transactions (app_id, reference, mode, kind, status, needs_review, provider, provider_reference, revision, record,
    party_hash, created_at, counted, traceparent, slots)
  SELECT app_id, reference, mode, ${steps.value("kind", "ord")}, ${steps.value("status", "ord")}, ${steps.value("needs_review", "ord")},
    ${steps.value("provider", "ord")}, ${steps.value("provider_reference", "ord")}, 1, ${steps.value("record", "ord")}::json,
    party_hash, ${steps.value("at", "ord")}, ${steps.value("counted", "ord")}::json, ${steps.value("traceparent", "ord")},
    array_remove(ARRAY[${steps.value("slot", "ord")}], NULL)
  FROM opened
  RETURNING app_id
)`,
  // Writes what is to be done with it.
  `work AS (
  INSERT INTO open_work (app_id, reference, mode, created_at, is_open, next_poll_at, needs_review, sealed_destination, beneficiary)
  SELECT app_id, reference, mode, ${steps.value("at", "ord")}, true, ${steps.value("next_poll_at", "ord")}, ${steps.value("needs_review", "ord")},
    ${steps.value("sealed_destination", "ord")}, ${steps.value("beneficiary", "ord")}::json
  FROM opened
)`,
  // Whose a callback is that carries the provider's reference alone.
  `named AS (
  INSERT INTO provider_references (provider, mode, provider_reference, app_id, reference)
  SELECT ${steps.value("provider", "ord")}, mode, ${steps.value("provider_reference", "ord")}, app_id, reference
  FROM opened WHERE ${steps.value("provider_reference", "ord")} IS NOT NULL
)`,
  // Adds up what the opened steps take of each window. A window without a row has no number here, and the proof at the end refuses it.
  `taken AS MATERIALIZED (
  SELECT c.*, t.amount
  FROM counter c FULL JOIN (
    SELECT resource, sum(amount) AS amount FROM need
    WHERE pos < ${FLOAT_PLACE} AND step NOT IN (SELECT ord FROM verdict WHERE verdict <> 'Opened') GROUP BY resource
  ) t ON t.resource = c.number
)`,
  // Counts them in the windows.
  `counted AS (
  UPDATE counters c SET used = t.used + t.amount FROM taken t
  WHERE c.app_id = t.app_id AND c.mode = t.mode AND c.name = t.name AND c.subject = t.subject AND c.starts_at BETWEEN t.starts_at AND t.starts_at
    AND t.amount IS NOT NULL
)`,
  // Marks the payer's number as charged by this transaction: the guard against a second charge reads it.
  `charging AS (
  UPDATE payer_locks l SET reference = o.reference, at = ${steps.value("at", "o.ord")},
    recent = add_charge(p.recent, o.reference, ${steps.value("at", "o.ord")})
  FROM opened o JOIN payer p ON p.app_id = o.app_id AND p.mode = o.mode AND p.party_hash = o.party_hash
  WHERE o.guarded AND l.app_id = o.app_id AND l.mode = o.mode AND l.party_hash = o.party_hash
)`,
  // Ties the key to its transaction: from here on the same request finds it, and no other request can take the key.
  `linked AS (
  UPDATE idempotency_keys k SET state = 'pinned', reference = o.reference FROM opened o
  WHERE k.app_id = o.app_id AND k.mode = o.mode AND k.endpoint = o.endpoint AND k.key = o.key AND k.fence = o.fence AND k.state = 'claimed'
  RETURNING k.app_id
)`,
  // The postings of the reservations.
  `line AS MATERIALIZED (
  SELECT step, ${steps.value("app_id", "step")} AS app_id, ${steps.value("mode", "step")} AS mode, currency, account, amount
  FROM ${postings.rows("p", ["step", "currency", "account", "amount"])}
  WHERE step NOT IN (SELECT ord FROM verdict WHERE verdict <> 'Opened')
)`,
  // Writes the journal's first row of each record, with the digests that `ledger verify` compares, and the entry, where there is one.
  `journaled AS (
  INSERT INTO journal (app_id, reference, revision, mode, at, actor, fact, note, status, slot, phase, currencies, accounts, amounts,
    record_digest, event_digest)
  SELECT o.app_id, o.reference, 1, o.mode, ${journalValues(steps, "o.ord")}
  FROM opened o LEFT JOIN ${entries("line")} e ON e.step = o.ord
)`,
  // What the postings change of each position.
  `delta AS (
  SELECT app_id, mode, currency, sum(amount) FILTER (WHERE account = 'available') AS available,
    sum(amount) FILTER (WHERE account = 'reserved') AS reserved
  FROM line GROUP BY app_id, mode, currency
)`,
  // Moves the amount from available to reserved.
  `moved AS (
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
)`,
  `-- A collection and an exchange credit a position when they settle: its row has to be there by then.
prepared AS (
  INSERT INTO float_positions (app_id, mode, currency)
  SELECT DISTINCT app_id, mode, ${steps.value("credited_currency", "ord")} FROM opened
  WHERE ${steps.value("credited_currency", "ord")} IS NOT NULL ORDER BY 1, 2, 3 ON CONFLICT DO NOTHING
)`,
  // Writes the event that tells the tenant, in the same commit as what it tells.
  `told AS (
  INSERT INTO events (app_id, id, mode, type, reference, body, created_at)
  SELECT app_id, ${steps.value("event_id", "ord")}, mode, ${steps.value("event_type", "ord")}, reference, ${steps.value("event_body", "ord")},
    ${steps.value("at", "ord")}
  FROM opened WHERE ${steps.value("event_id", "ord")} IS NOT NULL
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
 * Opens a batch of transactions, as if they had come one after another in the order of `ord`. One row a step comes back: its verdict, and
 * for ShortFloat and OverCap what was available and which need failed. `refuse_commit` rolls the whole batch back where less was written
 * than was decided: a window without a row, a key that was not linked, a position that was not moved.
 */
export const openRecordSql = `
WITH ${parts.join(",\n")}
SELECT v.ord, v.verdict, v.available, v.failed,
  CASE
    WHEN EXISTS (SELECT FROM taken WHERE number IS NULL) THEN refuse_commit('a window was not prepared')
    WHEN (SELECT count(*) FROM linked) <> (SELECT count(*) FROM inserted) THEN refuse_commit('a key was not linked')
    WHEN (SELECT count(*) FROM moved) <> (SELECT count(*) FROM delta) THEN refuse_commit('a position was not moved')
  END AS proof
FROM verdict v ORDER BY v.ord`
