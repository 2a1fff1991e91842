/** One promise of the ledger: `counted` says how many rows it looks at, `broken` gives (subject, found) of each that breaks it. */
export interface LedgerRule {
  readonly rule: string
  readonly counted: string
  readonly broken: string
}

// What a transaction's record says that it holds and moves, as numbers.
const told = `
  SELECT app_id, reference, mode, kind, status, record->>'currency' AS currency,
    coalesce((record->>'observedAmount')::bigint, (record->>'amount')::bigint) AS amount, coalesce((record->>'fees')::bigint, 0) AS fees,
    (record->>'principal')::bigint AS principal,
    CASE kind WHEN 'payout' THEN (record->>'principal')::bigint + (record->>'heldFee')::bigint WHEN 'exchange' THEN (record->>'amount')::bigint END AS held,
    record->>'destinationCurrency' AS destination_currency, (record->>'destinationAmount')::bigint AS destination,
    (record->'returned'->>'amount')::bigint AS returned
  FROM transactions`

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

/** Every promise, in the order in which they are reported. */
export const ledgerRules: ReadonlyArray<LedgerRule> = [
  {
    rule: "entries_balance",
    counted: "SELECT count(*) FROM journal",
    broken: `
      SELECT app_id || '/' || reference || '/' || slot AS subject, currency || ' sums to ' || sum(amount_minor) AS found
      FROM postings GROUP BY app_id, reference, slot, currency HAVING sum(amount_minor) <> 0`
  },
  {
    rule: "postings_have_entries",
    counted: "SELECT count(*) FROM postings",
    broken: `
      SELECT coalesce(j.app_id, p.app_id) || '/' || coalesce(j.reference, p.reference) || '/' || coalesce(j.slot, p.slot) AS subject,
        CASE WHEN j.app_id IS NULL THEN 'postings without an entry' WHEN p.app_id IS NULL THEN 'an entry without postings'
          ELSE 'an entry of another mode' END AS found
      FROM journal j FULL JOIN (SELECT DISTINCT app_id, reference, slot, mode FROM postings) p
        ON p.app_id = j.app_id AND p.reference = j.reference AND p.slot = j.slot
      WHERE j.app_id IS NULL OR p.app_id IS NULL OR p.mode <> j.mode
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
    broken: `
      WITH told AS (${told}),
      open AS (SELECT app_id, mode, currency, sum(held) AS held FROM told WHERE held > 0 AND status = 'pending' GROUP BY 1, 2, 3)
      SELECT coalesce(p.app_id, o.app_id) || '/' || coalesce(p.mode, o.mode) || '/' || coalesce(p.currency, o.currency) AS subject,
        'reserved is ' || coalesce(p.reserved_minor, 0) || ', what is open holds ' || coalesce(o.held, 0) AS found
      FROM float_positions p FULL JOIN open o ON o.app_id = p.app_id AND o.mode = p.mode AND o.currency = p.currency
      WHERE coalesce(p.reserved_minor, 0) <> coalesce(o.held, 0)`
  },
  {
    rule: "entries_match_the_status",
    counted: "SELECT count(*) FROM transactions",
    broken: `
      WITH told AS (${told}),
      entries AS (
        SELECT app_id, reference, string_agg(phase, ',' ORDER BY phase) FILTER (WHERE phase <> 'correct') AS phases, min(mode) AS mode,
          bool_or(phase = 'correct') AS corrected
        FROM journal GROUP BY app_id, reference
      ),
      expected AS (
        SELECT t.*, CASE
          WHEN kind = 'collection' AND status = 'successful' THEN 'collect'
          WHEN kind = 'collection' THEN ''
          WHEN status = 'pending' THEN 'reserve'
          WHEN kind = 'exchange' AND status = 'successful' THEN 'exchange,reserve'
          WHEN status = 'failed' THEN 'release,reserve'
          WHEN returned IS NULL THEN 'reserve,settle'
          ELSE 'reserve,return,settle'
        END AS phases FROM told t
      )
      SELECT x.app_id || '/' || x.reference AS subject,
        x.kind || ' ' || x.status || ' has the entries [' || coalesce(e.phases, '') || '], not [' || x.phases || ']' AS found
      FROM expected x LEFT JOIN entries e ON e.app_id = x.app_id AND e.reference = x.reference
      -- A correction turns what was closed into the other outcome.
      WHERE e.mode <> x.mode OR CASE WHEN e.corrected
        THEN x.status NOT IN ('successful', 'failed') OR coalesce(e.phases, '') NOT IN
          (CASE x.kind WHEN 'collection' THEN 'collect' ELSE 'release,reserve' END, 'reserve,settle', 'reserve,return,settle',
            'exchange,reserve', 'release,reserve,return')
        ELSE coalesce(e.phases, '') <> x.phases END`
  },
  {
    rule: "entries_match_the_record",
    counted: "SELECT count(*) FROM journal WHERE phase NOT IN ('credit', 'debit', 'correct')",
    broken: `
      -- A record is read once, not once for each amount that is asked of it.
      WITH told AS MATERIALIZED (${told}),
      expected AS (
        SELECT t.app_id, t.reference, e.currency, e.phase, e.account, e.amount FROM told t
        CROSS JOIN LATERAL (VALUES
          ('payout', 'reserve', 'reserved', held, currency), ('payout', 'settle', 'reserved', -held, currency),
          ('payout', 'settle', 'paid_out', principal, currency), ('payout', 'settle', 'provider_fees', fees, currency),
          ('payout', 'release', 'reserved', -held, currency), ('payout', 'return', 'returned', -returned, currency),
          ('collection', 'collect', 'collected', -amount, currency), ('collection', 'collect', 'provider_fees', fees, currency),
          ('exchange', 'reserve', 'reserved', held, currency), ('exchange', 'release', 'reserved', -held, currency),
          ('exchange', 'exchange', 'reserved', -held, currency), ('exchange', 'exchange', 'fx_out', amount, currency),
          ('exchange', 'exchange', 'fx_in', -destination, destination_currency)
        ) AS e(kind, phase, account, amount, currency)
        WHERE e.kind = t.kind
      )
      SELECT x.app_id || '/' || x.reference || '/' || x.phase || '/' || x.account AS subject,
        'posted ' || coalesce(p.amount_minor, 0) || ', the record says ' || coalesce(x.amount, 0) AS found
      FROM expected x
      JOIN journal j ON j.app_id = x.app_id AND j.reference = x.reference AND j.phase = x.phase
      LEFT JOIN postings p ON p.app_id = j.app_id AND p.reference = j.reference AND p.slot = j.slot AND p.account = x.account
        AND p.currency = x.currency
      WHERE coalesce(p.amount_minor, 0) <> coalesce(x.amount, 0)
        AND (x.account = 'reserved' OR NOT EXISTS (SELECT FROM journal c
          WHERE c.app_id = x.app_id AND c.reference = x.reference AND c.phase = 'correct'))`
  },
  {
    rule: "corrections_make_the_record",
    counted: "SELECT count(*) FROM journal WHERE phase = 'correct'",
    broken: `
      WITH told AS (${told}),
      expected AS (
        SELECT t.app_id, t.reference, e.currency, e.account, CASE WHEN t.status = 'successful' THEN e.amount ELSE 0 END AS amount
        FROM told t JOIN journal j ON j.app_id = t.app_id AND j.reference = t.reference AND j.phase = 'correct'
        CROSS JOIN LATERAL (VALUES
          ('payout', 'paid_out', principal, currency), ('payout', 'provider_fees', fees, currency),
          ('payout', 'returned', -coalesce(returned, 0), currency),
          ('collection', 'collected', -amount, currency), ('collection', 'provider_fees', fees, currency),
          ('exchange', 'fx_out', amount, currency), ('exchange', 'fx_in', -destination, destination_currency)
        ) AS e(kind, account, amount, currency)
        WHERE e.kind = t.kind
      )
      SELECT x.app_id || '/' || x.reference || '/' || x.account AS subject,
        'all its entries sum to ' || coalesce(sum(p.amount_minor), 0) || ', the record says ' || x.amount AS found
      FROM expected x LEFT JOIN postings p ON p.app_id = x.app_id AND p.reference = x.reference AND p.account = x.account
        AND p.currency = x.currency
      GROUP BY x.app_id, x.reference, x.account, x.amount HAVING coalesce(sum(p.amount_minor), 0) <> x.amount`
  },
  {
    rule: "entries_have_a_cause",
    counted: "SELECT count(*) FROM float_adjustments",
    broken: `
      SELECT coalesce(j.app_id || '/' || j.reference || '/' || j.slot, a.app_id || '/' || a.reference) AS subject,
        CASE WHEN j.app_id IS NULL THEN 'an adjustment without its entry'
          WHEN j.phase NOT IN ('credit', 'debit') THEN 'an entry of no transaction'
          ELSE 'a ' || j.phase || ' that is not its adjustment''s' END AS found
      FROM journal j
      FULL JOIN float_adjustments a ON a.app_id = j.app_id AND a.reference = j.reference AND j.phase IN ('credit', 'debit')
      LEFT JOIN transactions t ON t.app_id = j.app_id AND t.reference = j.reference
      -- What a credit brings may have covered the receivable.
      LEFT JOIN LATERAL (
        SELECT p.currency, sum(p.amount_minor) AS amount_minor FROM postings p
        -- Nothing else is looked up posting by posting: a lookup asks every partition.
        WHERE j.phase IN ('credit', 'debit') AND p.app_id = j.app_id AND p.reference = j.reference AND p.slot = j.slot
          AND p.account IN ('available', 'receivable')
        GROUP BY p.currency
      ) p ON true
      WHERE CASE
        WHEN j.phase IN ('credit', 'debit') THEN a.direction IS DISTINCT FROM j.phase OR a.mode <> j.mode
          OR a.currency IS DISTINCT FROM p.currency OR abs(p.amount_minor) IS DISTINCT FROM a.amount_minor
        ELSE t.app_id IS NULL
      END`
  },
  {
    rule: "columns_match_the_record",
    counted: "SELECT count(*) FROM transactions",
    broken: `
      SELECT app_id || '/' || reference AS subject, 'its columns say ' || status || ', its record ' || (record->>'status') AS found
      FROM transactions
      WHERE (status, kind, mode, reference, app_id) IS DISTINCT FROM
        (record->>'status', record->>'kind', record->>'mode', record->>'reference', record->>'appId')`
  },
  {
    rule: "keys_are_linked",
    counted: "SELECT count(*) FROM idempotency_keys WHERE reference IS NOT NULL",
    broken: `
      SELECT k.app_id || '/' || k.reference AS subject,
        CASE WHEN min(t.reference) IS NULL THEN 'a key of a transaction that is not there' ELSE 'more than one key' END AS found
      FROM idempotency_keys k
      LEFT JOIN transactions t ON t.app_id = k.app_id AND t.reference = k.reference AND t.mode = k.mode
      WHERE k.reference IS NOT NULL
      GROUP BY k.app_id, k.reference HAVING min(t.reference) IS NULL
        OR count(*) FILTER (WHERE k.endpoint NOT LIKE '%/authorize') > 1`
  },
  {
    rule: "outcomes_were_told",
    counted: "SELECT count(*) FROM transactions WHERE status IN ('successful', 'failed', 'expired')",
    broken: `
      SELECT t.app_id || '/' || t.reference AS subject, 'no event ' || t.type AS found
      FROM (SELECT *, CASE kind WHEN 'exchange' THEN 'fx' ELSE kind END || '.' || status AS type FROM transactions) t
      WHERE t.status IN ('successful', 'failed', 'expired')
        -- Events have their time; an hour is for clocks that differ.
        AND coalesce(to_timestamp((t.record->>'completedAt')::float8 / 1000), t.created_at) - interval '1 hour' >= (SELECT since FROM events_kept)
        AND NOT EXISTS (SELECT FROM events e WHERE e.app_id = t.app_id AND e.reference = t.reference AND e.type = t.type)`
  }
]
