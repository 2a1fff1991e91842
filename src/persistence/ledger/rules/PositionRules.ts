import { amountsOf, type LedgerRule } from "../LedgerRule.ts"

const positionColumns = [
  ["available", 1],
  ["reserved", 1],
  ["collected", -1],
  ["paid_out", 1],
  ["provider_fees", 1],
  ["credited", -1],
  ["debited", 1],
  ["fx_in", -1],
  ["fx_out", 1],
  ["returned", -1],
  ["receivable", -1]
] as const

/** Positions equal what was posted, and what is reserved equals what is open. */
export const positionRules: ReadonlyArray<LedgerRule> = [
  {
    rule: "entries_balance",
    counted: "SELECT count(*) FROM journal",
    broken: `
      SELECT app_id || '/' || reference || '/' || slot AS subject, currency || ' sums to ' || sum(amount_minor) AS found
      FROM postings GROUP BY app_id, reference, slot, currency HAVING sum(amount_minor) <> 0`
  },
  {
    rule: "entries_are_whole",
    counted: "SELECT count(*) FROM journal",
    // The table's own constraints prevent most of it, but an attacker could have removed them.
    broken: `
      SELECT j.app_id || '/' || j.reference || '/' || coalesce(j.slot, j.revision::text) AS subject, c.found
      FROM journal j CROSS JOIN LATERAL (SELECT CASE
        WHEN cardinality(j.amounts) > 0 AND (j.slot IS NULL OR j.phase IS NULL) THEN 'postings of no entry'
        WHEN cardinality(j.amounts) = 0 AND (j.slot IS NOT NULL OR j.phase IS NOT NULL) THEN 'an entry without postings'
        WHEN cardinality(j.currencies) <> cardinality(j.amounts) OR cardinality(j.accounts) <> cardinality(j.amounts)
          OR array_position(j.currencies, NULL) IS NOT NULL OR array_position(j.accounts, NULL) IS NOT NULL OR array_position(j.amounts, NULL) IS NOT NULL
          OR 0 = ANY (j.amounts) THEN 'a posting without its currency, account or amount'
      END AS found) AS c
      WHERE c.found IS NOT NULL
      UNION ALL
      SELECT app_id || '/' || reference || '/' || slot, account || ' ' || currency || ' is posted ' || count(*) || ' times'
      FROM postings GROUP BY app_id, reference, slot, currency, account HAVING count(*) > 1`
  },
  {
    rule: "positions_are_the_fold",
    counted: "SELECT count(*) FROM float_positions",
    broken: `
      WITH fold AS (
        SELECT app_id, mode, currency,
          ${positionColumns.map(([name, sign]) => `coalesce(sum(${sign} * amount_minor) FILTER (WHERE account = '${name}'), 0) AS ${name}`).join(", ")}
        FROM postings GROUP BY app_id, mode, currency
      )
      SELECT coalesce(p.app_id, f.app_id) || '/' || coalesce(p.mode, f.mode) || '/' || coalesce(p.currency, f.currency) || '/' || c.name AS subject,
        'the position says ' || c.stated || ', its postings ' || c.folded AS found
      FROM float_positions p FULL JOIN fold f ON f.app_id = p.app_id AND f.mode = p.mode AND f.currency = p.currency
      CROSS JOIN LATERAL (VALUES
        ${positionColumns.map(([name]) => `('${name}', coalesce(p.${name}_minor, 0), coalesce(f.${name}, 0))`).join(", ")}
      ) AS c(name, stated, folded)
      WHERE c.stated <> c.folded`
  },
  {
    rule: "reserved_is_what_is_open",
    counted: "SELECT count(*) FROM transactions WHERE kind IN ('payout', 'exchange') AND status = 'pending'",
    // Open means that the record has work; `open_records_are_looked_after` reports an open record without work.
    broken: `
      WITH recorded AS (${amountsOf("t.status = 'pending' AND (t.app_id, t.reference) IN (SELECT app_id, reference FROM open_work)")}),
      open AS (SELECT app_id, mode, currency, sum(held) AS held FROM recorded WHERE held > 0 GROUP BY 1, 2, 3)
      SELECT coalesce(p.app_id, o.app_id) || '/' || coalesce(p.mode, o.mode) || '/' || coalesce(p.currency, o.currency) AS subject,
        'reserved is ' || coalesce(p.reserved_minor, 0) || ', what is open holds ' || coalesce(o.held, 0) AS found
      FROM float_positions p FULL JOIN open o ON o.app_id = p.app_id AND o.mode = p.mode AND o.currency = p.currency
      WHERE coalesce(p.reserved_minor, 0) <> coalesce(o.held, 0)`
  },
  {
    rule: "open_records_have_their_position",
    counted: "SELECT count(*) FROM transactions WHERE status IN ('pending', 'requires_action')",
    broken: `
      SELECT DISTINCT ON (t.app_id, t.mode, c.currency) t.app_id || '/' || t.mode || '/' || c.currency AS subject,
        'the position is not there that ' || t.kind || ' ' || t.reference || ' will move' AS found
      FROM transactions t
      CROSS JOIN LATERAL json_to_record(t.record) AS r(currency text, "destinationCurrency" text)
      CROSS JOIN LATERAL (VALUES (r.currency), (CASE t.kind WHEN 'exchange' THEN r."destinationCurrency" END)) AS c(currency)
      LEFT JOIN float_positions p ON p.app_id = t.app_id AND p.mode = t.mode AND p.currency = c.currency
      WHERE t.status IN ('pending', 'requires_action') AND c.currency IS NOT NULL AND p.app_id IS NULL`
  }
]
