/** One promise of the ledger: `counted` says how many rows it looks at, `broken` gives (subject, found) of each that breaks it. */
export interface LedgerRule {
  readonly rule: string
  readonly counted: string
  readonly broken: string
}

/**
 * Asks for at most so many rows that break it. OFFSET has the rule planned as a whole: a plan for its first rows looks up one after another, and
 * where there are none it looks up everything.
 */
export const breachesOf = ({ broken }: LedgerRule, atMost: number): string =>
  `SELECT subject, found FROM (${broken} OFFSET 0) AS breaches ORDER BY 1 LIMIT ${atMost}`

/**
 * With what a rule is asked: whole tables are read from end to end and put together by hashing, never row by row, and in the order in which
 * the rule names them, so that a record is read once and not once for each of its postings.
 */
export const auditSettings = {
  enable_seqscan: "on",
  enable_nestloop: "off",
  join_collapse_limit: "1",
  from_collapse_limit: "1",
  work_mem: "64MB"
} as const

// What the records of some transactions say that they hold and move, as numbers.
const told = (which: string) => `
  SELECT t.app_id, t.reference, t.mode, t.kind, t.status, r.currency, coalesce(r."observedAmount", r.amount) AS amount,
    coalesce(r.fees, 0) AS fees, r.principal,
    CASE t.kind WHEN 'payout' THEN r.principal + r."heldFee" WHEN 'exchange' THEN r.amount END AS held,
    r."destinationCurrency" AS destination_currency, r."destinationAmount" AS destination, (r.returned->>'amount')::bigint AS returned
  FROM transactions t CROSS JOIN LATERAL json_to_record(t.record) AS r(currency text, "observedAmount" bigint, amount bigint, fees bigint,
    principal bigint, "heldFee" bigint, "destinationCurrency" text, "destinationAmount" bigint, returned json)
  WHERE ${which}`

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
      WITH told AS (${told("t.status = 'pending'")}),
      open AS (SELECT app_id, mode, currency, sum(held) AS held FROM told WHERE held > 0 GROUP BY 1, 2, 3)
      SELECT coalesce(p.app_id, o.app_id) || '/' || coalesce(p.mode, o.mode) || '/' || coalesce(p.currency, o.currency) AS subject,
        'reserved is ' || coalesce(p.reserved_minor, 0) || ', what is open holds ' || coalesce(o.held, 0) AS found
      FROM float_positions p FULL JOIN open o ON o.app_id = p.app_id AND o.mode = p.mode AND o.currency = p.currency
      WHERE coalesce(p.reserved_minor, 0) <> coalesce(o.held, 0)`
  },
  {
    rule: "entries_match_the_status",
    counted: "SELECT count(*) FROM transactions",
    broken: `
      WITH entries AS (
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
          WHEN record->'returned'->>'amount' IS NULL THEN 'reserve,settle'
          ELSE 'reserve,return,settle'
        END AS phases FROM transactions t
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
      WITH told AS (${told("true")}),
      expected AS (
        SELECT t.app_id, t.reference, j.slot, j.phase, e.account, CASE e.account WHEN 'fx_in' THEN t.destination_currency ELSE t.currency END AS currency,
          e.sign * CASE e.amount WHEN 'held' THEN t.held WHEN 'principal' THEN t.principal WHEN 'fees' THEN t.fees WHEN 'returned' THEN t.returned
            WHEN 'amount' THEN t.amount WHEN 'destination' THEN t.destination END AS amount
        FROM told t JOIN journal j ON j.app_id = t.app_id AND j.reference = t.reference
        JOIN (VALUES
          ('payout', 'reserve', 'reserved', 1, 'held'), ('payout', 'settle', 'reserved', -1, 'held'),
          ('payout', 'settle', 'paid_out', 1, 'principal'), ('payout', 'settle', 'provider_fees', 1, 'fees'),
          ('payout', 'release', 'reserved', -1, 'held'), ('payout', 'return', 'returned', -1, 'returned'),
          ('collection', 'collect', 'collected', -1, 'amount'), ('collection', 'collect', 'provider_fees', 1, 'fees'),
          ('exchange', 'reserve', 'reserved', 1, 'held'), ('exchange', 'release', 'reserved', -1, 'held'),
          ('exchange', 'exchange', 'reserved', -1, 'held'), ('exchange', 'exchange', 'fx_out', 1, 'amount'),
          ('exchange', 'exchange', 'fx_in', -1, 'destination')
        ) AS e(kind, phase, account, sign, amount) ON e.kind = t.kind AND e.phase = j.phase
      )
      SELECT x.app_id || '/' || x.reference || '/' || x.phase || '/' || x.account AS subject,
        'posted ' || coalesce(p.amount_minor, 0) || ', the record says ' || coalesce(x.amount, 0) AS found
      FROM expected x
      LEFT JOIN postings p ON p.app_id = x.app_id AND p.reference = x.reference AND p.slot = x.slot AND p.account = x.account
        AND p.currency = x.currency
      LEFT JOIN journal c ON c.app_id = x.app_id AND c.reference = x.reference AND c.phase = 'correct'
      WHERE coalesce(p.amount_minor, 0) <> coalesce(x.amount, 0) AND (x.account = 'reserved' OR c.app_id IS NULL)`
  },
  {
    rule: "corrections_make_the_record",
    counted: "SELECT count(*) FROM journal WHERE phase = 'correct'",
    broken: `
      WITH told AS (${told("(t.app_id, t.reference) IN (SELECT app_id, reference FROM journal WHERE phase = 'correct')")}),
      expected AS (
        SELECT t.app_id, t.reference, e.currency, e.account, CASE WHEN t.status = 'successful' THEN e.amount ELSE 0 END AS amount
        FROM told t CROSS JOIN LATERAL (VALUES
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
      SELECT t.app_id || '/' || t.reference AS subject, 'its columns say ' || t.status || ', its record ' || r.status AS found
      FROM transactions t
      CROSS JOIN LATERAL json_to_record(t.record) AS r(status text, kind text, mode text, reference text, "appId" text)
      WHERE (t.status, t.kind, t.mode, t.reference, t.app_id) IS DISTINCT FROM (r.status, r.kind, r.mode, r.reference, r."appId")`
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
