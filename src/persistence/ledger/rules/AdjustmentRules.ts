import type { LedgerRule } from "../LedgerRule.ts"

// The rows of the audit log that have a given detail. All of them are read before the first is joined: audit_details begins a
// subtransaction, which on Citus has to be sent to servers that are still being sent what was read.
const saying = (name: string) => `
  FROM (
    SELECT array_agg(l.sequence) AS sequences, array_agg(l.v) AS details
    FROM (SELECT sequence, audit_details(details) AS v FROM audit_log OFFSET 0) l WHERE l.v ? '${name}'
  ) read CROSS JOIN LATERAL unnest(read.sequences, read.details) AS l(sequence, v)`

// The credits and debits by operators in the audit log, by the detail that identifies them.
const audited = `
  SELECT l.sequence, l.v->>'app_id' AS app_id, l.v->>'mode' AS mode, l.v->>'external_id' AS external_id,
    l.v->>'direction' AS direction, l.v->>'currency' AS currency,
    l.v->>'amount_minor' AS amount_minor, l.v->>'reference' AS reference, l.v->>'note' AS note
  ${saying("external_id")}`

// The postings from the console: each float entry, and each ruling that was proposed.
const byTwo = ["external_id", "resolved"]
  .map(
    (name) => `
  SELECT a.sequence, a.actor, a.subject, l.v->>'about' AS about, l.v->>'proposal' AS proposal, 'console/' || (l.v->>'proposed_by') AS proposer
  ${saying(name)} JOIN audit_log a ON a.sequence = l.sequence AND a.actor LIKE 'console/%' AND (l.v ? 'external_id' OR l.v ? 'proposal')`
  )
  .join(" UNION ALL ")

// The rulings of people; without postings when no money moved.
const resolved = `
  SELECT l.sequence, l.v->>'resolved' AS reference, l.v->>'slot' AS slot, l.v->>'postings' AS postings
  ${saying("resolved")}`

/** Compares the postings of people with the audit log. Whether the log itself is intact, `audit verify` checks. */
export const adjustmentRules: ReadonlyArray<LedgerRule> = [
  {
    rule: "adjustments_are_audited",
    counted: "SELECT count(*) FROM float_adjustments",
    broken: `
      WITH audited AS (${audited})
      SELECT concat_ws('/', coalesce(a.app_id, l.app_id), coalesce(a.mode, l.mode), coalesce(a.external_id, l.external_id)) AS subject,
        CASE WHEN l.sequence IS NULL THEN 'a ' || a.direction || ' without its audit row'
          WHEN a.app_id IS NULL THEN 'audit row ' || l.sequence || ' names an adjustment that is not there'
          ELSE 'a ' || a.direction || ' of ' || a.currency || ' ' || a.amount_minor || ', audit row ' || l.sequence || ' says ' || coalesce(l.direction, 'no direction')
            || ' of ' || coalesce(l.currency, 'no currency') || ' ' || coalesce(l.amount_minor, 'no amount') END AS found
      FROM float_adjustments a
      FULL JOIN audited l ON l.app_id = a.app_id AND l.mode = a.mode AND l.external_id = a.external_id
      WHERE l.sequence IS NULL OR a.app_id IS NULL
        OR (l.reference, l.direction, l.currency, l.amount_minor) IS DISTINCT FROM (a.reference, a.direction, a.currency, a.amount_minor::text)`
  },
  {
    rule: "adjustments_are_as_written",
    counted: "SELECT count(*) FROM float_adjustments",
    broken: `
      WITH audited AS (${audited})
      SELECT a.app_id || '/' || a.mode || '/' || a.external_id AS subject,
        CASE WHEN l.note IS DISTINCT FROM a.note THEN 'its note is not the one of audit row ' || l.sequence
          ELSE 'its line of the history is another than its own: ' || concat_ws(', ', j.actor, j.fact, j.note, j.at) END AS found
      FROM float_adjustments a
      JOIN audited l ON l.app_id = a.app_id AND l.mode = a.mode AND l.external_id = a.external_id
      JOIN journal j ON j.app_id = a.app_id AND j.reference = a.reference
      WHERE l.note IS DISTINCT FROM a.note OR (j.actor, j.fact, j.note, j.at) IS DISTINCT FROM
        ('operator', CASE a.direction WHEN 'credit' THEN 'Credited' ELSE 'Debited' END, a.note, a.at)`
  },
  {
    rule: "adjustments_are_of_no_record",
    counted: "SELECT count(*) FROM float_adjustments",
    // The gateway books transactions itself, so an adjustment with a transaction's reference books one movement twice.
    broken: `
      SELECT a.app_id || '/' || a.mode || '/' || a.external_id AS subject,
        'a ' || a.direction || ' of ' || a.currency || ' ' || a.amount_minor || ' by the reference of a transaction' AS found
      FROM float_adjustments a JOIN transactions t ON t.app_id = a.app_id AND t.reference = a.external_id`
  },
  {
    rule: "console_postings_have_two_people",
    counted:
      "SELECT count(*) FROM audit_log WHERE actor LIKE 'console/%' AND action IN ('float credit', 'float debit', 'review resolve')",
    broken: `
      WITH posted AS (${byTwo}),
      approved AS (SELECT subject AS proposal, actor, max(sequence) AS sequence FROM audit_log WHERE action = 'proposal approve' GROUP BY 1, 2),
      proposed AS (SELECT subject AS about, actor, min(sequence) AS sequence FROM audit_log WHERE action IN ('float propose', 'review propose') GROUP BY 1, 2)
      SELECT p.subject || ', audit row ' || p.sequence AS subject, CASE
          WHEN p.proposal IS NULL THEN 'posted in the console by one person'
          WHEN o.actor IS NULL THEN 'posted in the console, and no audit row says that ' || coalesce(p.proposer, 'somebody') || ' proposed it'
          ELSE 'posted in the console, and no audit row says that somebody else approved it'
        END AS found
      FROM posted p
      LEFT JOIN proposed o ON o.about = p.about AND o.actor = p.proposer AND o.sequence < p.sequence
      LEFT JOIN (SELECT p.sequence FROM posted p JOIN approved y ON y.proposal = p.proposal WHERE y.actor <> p.proposer AND y.sequence < p.sequence) y
        ON y.sequence = p.sequence
      WHERE p.proposal IS NULL OR o.actor IS NULL OR y.sequence IS NULL`
  },
  {
    rule: "resolutions_are_audited",
    counted: "SELECT count(*) FROM transaction_history WHERE actor = 'review' AND fact = 'Resolved'",
    broken: `
      WITH resolved AS (${resolved}),
      lines AS (SELECT app_id, reference, count(*) AS times FROM transaction_history WHERE actor = 'review' AND fact = 'Resolved' GROUP BY 1, 2),
      rows AS (SELECT reference, count(*) AS times FROM resolved GROUP BY 1),
      posted AS (
        SELECT app_id, reference, slot, string_agg(currency || ' ' || account || ' ' || amount_minor, '; '
          ORDER BY currency COLLATE "C", account COLLATE "C") AS postings FROM postings
        WHERE reference IN (SELECT reference FROM resolved) GROUP BY 1, 2, 3
      )
      SELECT coalesce(h.app_id || '/', '') || coalesce(h.reference, r.reference) AS subject,
        'resolved ' || coalesce(h.times, 0) || ' times, the audit log says ' || coalesce(r.times, 0) AS found
      FROM lines h FULL JOIN rows r ON r.reference = h.reference
      WHERE h.times IS DISTINCT FROM r.times
      UNION ALL
      SELECT coalesce(p.app_id || '/', '') || r.reference || '/' || r.slot,
        'posted [' || coalesce(p.postings, '') || '], audit row ' || r.sequence || ' says [' || r.postings || ']'
      FROM resolved r LEFT JOIN posted p ON p.reference = r.reference AND p.slot = r.slot
      WHERE r.postings IS NOT NULL AND r.postings <> coalesce(p.postings, '')
      UNION ALL
      SELECT j.app_id || '/' || j.reference || '/' || j.slot, 'a correction that no audit row names'
      FROM journal j LEFT JOIN resolved r ON r.reference = j.reference AND r.slot IS NOT DISTINCT FROM j.slot
      WHERE j.phase = 'correct' AND r.sequence IS NULL`
  }
]
