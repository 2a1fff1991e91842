import type { LedgerRule } from "../LedgerRule.ts"

/** Times are milliseconds in the record. Seconds of a distant year as a double are off by some microseconds. */
function toMillisecond(time: string): string {
  return `date_trunc('milliseconds', ${time} + interval '500 microseconds')`
}

// The members that are stored both in a column and in the record, by the column's name.
const columns = [
  ["status", "t.status", "r.status"],
  ["kind", "t.kind", "r.kind"],
  ["mode", "t.mode", "r.mode"],
  ["reference", "t.reference", "r.reference"],
  ["app_id", "t.app_id", 'r."appId"'],
  ["needs_review", "t.needs_review", 'coalesce(r."needsReview", false)'],
  ["provider", "t.provider", "r.provider"],
  ["provider_reference", "t.provider_reference", 'r."providerReference"'],
  ["created_at", toMillisecond("t.created_at"), toMillisecond('to_timestamp(r."createdAt" / 1000)')]
] as const

/** A record is the same wherever it is stored. */
export const recordRules: ReadonlyArray<LedgerRule> = [
  {
    rule: "columns_match_the_record",
    counted: "SELECT count(*) FROM transactions",
    broken: `
      SELECT t.app_id || '/' || t.reference AS subject,
        'its column ' || c.name || ' says ' || coalesce(c.stated, 'nothing') || ', its record ' || coalesce(c.recorded, 'nothing') AS found
      FROM transactions t
      CROSS JOIN LATERAL json_to_record(t.record) AS r(status text, kind text, mode text, reference text, "appId" text, "needsReview" boolean,
        provider text, "providerReference" text, "createdAt" float8)
      CROSS JOIN LATERAL unnest(ARRAY[${columns.map(([name]) => `'${name}'`).join(", ")}],
        ARRAY[${columns.map(([, stated]) => `(${stated})::text`).join(", ")}],
        ARRAY[${columns.map(([, , recorded]) => `(${recorded})::text`).join(", ")}])
        AS c(name, stated, recorded)
      WHERE (${columns.map(([, stated]) => stated).join(", ")}) IS DISTINCT FROM (${columns.map(([, , recorded]) => recorded).join(", ")})
        AND c.stated IS DISTINCT FROM c.recorded`
  },
  {
    rule: "closed_records_say_so",
    counted: "SELECT count(*) FROM transactions",
    broken: `
      SELECT t.app_id || '/' || t.reference AS subject, c.found
      FROM transactions t
      CROSS JOIN LATERAL json_to_record(t.record) AS r("completedAt" float8, "createdAt" float8, failure json)
      CROSS JOIN LATERAL (SELECT CASE
        WHEN t.status IN ('pending', 'requires_action') AND r."completedAt" IS NOT NULL THEN 'it is open, and completed all the same'
        WHEN t.status NOT IN ('pending', 'requires_action') AND r."completedAt" IS NULL THEN 'it is closed, and nobody knows since when'
        -- An hour is for clocks that differ.
        WHEN r."completedAt" < r."createdAt" - 3600000 THEN 'it was completed before it was made'
        WHEN t.status IN ('failed', 'expired') AND coalesce(json_typeof(r.failure), 'null') = 'null' THEN 'it failed, and nobody knows why'
        WHEN t.kind <> 'collection' AND t.status = 'successful' AND json_typeof(r.failure) <> 'null' THEN 'it succeeded, and has a failure'
      END AS found) AS c
      WHERE c.found IS NOT NULL`
  },
  {
    rule: "open_records_are_looked_after",
    counted: "SELECT count(*) FROM transactions WHERE status IN ('pending', 'requires_action') OR needs_review",
    broken: `
      -- A schedule ends after a day; a lease lives for a minute.
      SELECT c.subject, c.found FROM (
        SELECT t.app_id || '/' || t.reference AS subject, CASE
        WHEN t.needs_review THEN CASE WHEN w.needs_review IS NOT TRUE THEN 'a person has to look at it, and the list of reviews leaves it out' END
        WHEN w.next_poll_at IS NULL THEN 'it is open, nobody will ask the provider, and no person has to look'
        WHEN w.next_poll_at > t.created_at + interval '7 days' THEN 'it is open, and nobody will ask the provider before ' || w.next_poll_at
        WHEN w.lease_until > greatest(now(), w.next_poll_at) + interval '1 day'
          THEN 'it is open, and a lease keeps everybody from asking until ' || w.lease_until
      END AS found
        FROM transactions t LEFT JOIN open_work w ON w.app_id = t.app_id AND w.reference = t.reference
        WHERE (t.status IN ('pending', 'requires_action') OR t.needs_review)
      ) AS c
      WHERE c.found IS NOT NULL`
  },
  {
    rule: "closed_records_keep_no_secret",
    counted: "SELECT count(*) FROM open_work",
    broken: `
      SELECT w.app_id || '/' || w.reference AS subject,
        CASE WHEN w.sealed_destination IS NULL THEN 'the recipient''s name' ELSE 'the sealed destination' END || ' is still there although it is ' || t.status AS found
      FROM open_work w JOIN transactions t ON t.app_id = w.app_id AND t.reference = w.reference
      WHERE t.status NOT IN ('pending', 'requires_action') AND (w.sealed_destination IS NOT NULL OR w.beneficiary IS NOT NULL)`
  },
  {
    rule: "open_work_is_open",
    counted: "SELECT count(*) FROM open_work",
    broken: `
      SELECT w.app_id || '/' || w.reference AS subject, CASE
          WHEN t.app_id IS NULL THEN 'work for a record that is not there'
          WHEN t.needs_review <> w.needs_review THEN 'the list of reviews has it, and its record needs nobody'
          WHEN w.is_open <> (t.status IN ('pending', 'requires_action')) THEN 'it is ' || t.status || ', and counts as ' || CASE WHEN w.is_open THEN 'open' ELSE 'closed' END
          ELSE 'it is closed, and nothing is left to do'
        END AS found
      FROM open_work w LEFT JOIN transactions t ON t.app_id = w.app_id AND t.reference = w.reference
      WHERE t.app_id IS NULL OR w.needs_review AND NOT t.needs_review OR w.is_open <> (t.status IN ('pending', 'requires_action'))
        OR t.status NOT IN ('pending', 'requires_action') AND NOT t.needs_review AND w.next_poll_at IS NULL`
  },
  {
    rule: "provider_references_are_found",
    counted: "SELECT count(*) FROM transactions WHERE provider_reference IS NOT NULL",
    broken: `
      SELECT t.app_id || '/' || t.reference AS subject,
        'a callback that carries only ' || t.provider || '''s ' || t.provider_reference || ' does not find it' AS found
      FROM transactions t LEFT JOIN provider_references p ON p.provider = t.provider AND p.mode = t.mode
        AND p.provider_reference = t.provider_reference AND p.app_id = t.app_id AND p.reference = t.reference
      WHERE t.provider_reference IS NOT NULL AND p.app_id IS NULL`
  },
  {
    rule: "provider_references_are_used_once",
    counted: "SELECT count(*) FROM transactions WHERE provider_reference IS NOT NULL",
    // Two accounts at one provider may issue the same reference. A record without an account counts as any account's.
    broken: `
      SELECT provider || '/' || mode || '/' || provider_reference AS subject,
        'the same ' || kind || ' of the provider is ' || sum(uses) || ' of ours: ' || min(first) || ' and ' || max(last) AS found
      FROM (
        SELECT provider, mode, kind, provider_reference, record->>'account' AS account, count(*) AS uses,
          min(reference) AS first, max(reference) AS last
        FROM transactions WHERE provider_reference IS NOT NULL
        GROUP BY provider, mode, kind, provider_reference, record->>'account') AS of_account
      GROUP BY provider, mode, kind, provider_reference HAVING sum(uses) > greatest(count(account), 1)`
  },
  {
    rule: "refunds_are_found",
    counted: "SELECT count(*) FROM transactions WHERE kind = 'payout' AND well_formed(record)->>'refundOf' IS NOT NULL",
    // The part of a collection that may still be refunded follows from the refunds that are found by this member (PAY-46).
    broken: `
      SELECT t.app_id || '/' || t.reference AS subject, 'it refunds ' || t.collection || ', of which as much could be refunded again' AS found
      FROM (SELECT app_id, mode, reference, well_formed(record)->>'refundOf' AS collection FROM transactions WHERE kind = 'payout') t
      LEFT JOIN metadata_members m ON m.app_id = t.app_id AND m.mode = t.mode AND m.member = metadata_member('', t.collection)
        AND m.reference = t.reference
      WHERE t.collection IS NOT NULL AND m.app_id IS NULL`
  },
  {
    rule: "beneficiaries_were_paid",
    counted: "SELECT count(*) FROM beneficiaries",
    // A payout keeps its recipient for ninety days, and may have been accepted some time after it was created.
    broken: `
      SELECT b.app_id || '/' || b.mode || '/' || b.id AS subject, 'a beneficiary whom no ' || b.mode || ' payout of this tenant went to' AS found
      FROM beneficiaries b
      LEFT JOIN (SELECT DISTINCT app_id, mode, party_hash FROM transactions WHERE kind = 'payout' AND party_hash IS NOT NULL) t
        ON t.app_id = b.app_id AND t.mode = b.mode AND t.party_hash = b.party_hash
      WHERE t.app_id IS NULL AND b.last_used_at > coalesce((SELECT max(created_at) + interval '30 days' FROM transactions
        WHERE kind = 'payout' AND party_hash IS NULL), '-infinity')`
  }
]

const exchanges = `
  SELECT t.app_id, t.reference, t.mode, t.status, t.provider, r.* FROM transactions t
  CROSS JOIN LATERAL json_to_record(t.record) AS r("quoteId" text, amount bigint, currency text, "destinationAmount" bigint,
    "destinationCurrency" text, rate text)
  WHERE t.kind = 'exchange'`

/** An exchange uses one quote, and yields what it promised. */
export const exchangeRules: ReadonlyArray<LedgerRule> = [
  {
    rule: "quotes_are_used_once",
    counted: "SELECT count(*) FROM transactions WHERE kind = 'exchange'",
    broken: `
      SELECT app_id || '/' || mode || '/' || "quoteId" AS subject,
        'one quote made ' || count(*) || ' exchanges: ' || min(reference) || ' and ' || max(reference) AS found
      FROM (${exchanges}) x GROUP BY app_id, mode, "quoteId" HAVING count(*) > 1`
  },
  {
    rule: "exchanges_keep_to_their_quote",
    counted: "SELECT count(*) FROM fx_quotes",
    // Checked while the quote is stored. The received amount may differ by one per cent and two units; by more when a person
    // established it.
    broken: `
      SELECT x.app_id || '/' || x.reference AS subject,
        'it says ' || concat_ws(' ', x.amount, x.currency, 'for', x."destinationAmount", x."destinationCurrency", 'by', x.provider, 'at', x.rate)
          || ', its quote ' || concat_ws(' ', q.source_minor, q.source_currency, 'for', q.destination_minor, q.destination_currency,
            'by', q.provider, 'at', q.rate) AS found
      FROM (${exchanges}) x JOIN fx_quotes q ON q.app_id = x.app_id AND q.mode = x.mode AND q.quote_id = x."quoteId"
      LEFT JOIN (SELECT DISTINCT app_id, reference FROM transaction_history WHERE fact = 'Resolved') h
        ON h.app_id = x.app_id AND h.reference = x.reference
      WHERE (x.amount, x.currency, x."destinationCurrency", x.provider, x.rate)
          <> (q.source_minor, q.source_currency, q.destination_currency, q.provider, q.rate)
        OR h.app_id IS NULL AND abs(x."destinationAmount" - q.destination_minor) > 2
          AND abs(x."destinationAmount" - q.destination_minor) * 100 > q.destination_minor`
  }
]

/** Each step of a record leaves one line, numbered by its revision, and the last line has the record's state. */
export const historyRules: ReadonlyArray<LedgerRule> = [
  {
    rule: "history_is_whole",
    counted: "SELECT count(*) FROM transaction_history",
    broken: `
      SELECT coalesce(t.app_id, h.app_id) || '/' || coalesce(t.reference, h.reference) AS subject,
        CASE
          WHEN min(t.revision) IS NULL THEN count(*) || ' lines of a record that is not there'
          WHEN count(h.line) <> min(t.revision) THEN count(h.line) || ' lines of ' || min(t.revision) || ' steps'
          WHEN min(h.line) <> 1 OR max(h.line) <> min(t.revision) THEN 'its lines are those of the steps ' || min(h.line) || ' to ' || max(h.line)
          WHEN count(*) FILTER (WHERE h.fact = 'Opened' AND h.line = 1) <> 1 THEN 'its first line is not that it was opened'
          ELSE 'its last line does not say that it is ' || min(t.status)
        END AS found
      FROM transactions t FULL JOIN transaction_history h ON h.app_id = t.app_id AND h.reference = t.reference
      GROUP BY coalesce(t.app_id, h.app_id), coalesce(t.reference, h.reference)
      HAVING (count(h.line), min(h.line), max(h.line), count(*) FILTER (WHERE h.fact = 'Opened' AND h.line = 1)) IS DISTINCT FROM
          (min(t.revision), 1::bigint, min(t.revision), 1::bigint)
        OR bool_or(h.line = t.revision AND h.status = t.status) IS NOT TRUE
      UNION ALL
      SELECT app_id || '/' || reference, count(*) || ' lines of the step ' || line
      FROM transaction_history GROUP BY app_id, reference, line HAVING count(*) > 1`
  },
  {
    rule: "records_are_as_written",
    counted: "SELECT count(*) FROM transactions",
    broken: `
      SELECT t.app_id || '/' || t.reference AS subject, 'the record is not the one that its last line was written with' AS found
      FROM (SELECT app_id, reference, revision, record_digest(record::text) AS digest FROM transactions) t
      LEFT JOIN transaction_history h ON h.app_id = t.app_id AND h.reference = t.reference AND h.line = t.revision
      WHERE h.record_digest IS DISTINCT FROM t.digest`
  }
]
