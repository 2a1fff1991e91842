import { type Account, type Phase, slotByPhase } from "../../../domain/Ledger.ts"
import { amountsOf, type LedgerRule } from "../LedgerRule.ts"

/** Every entry has a cause, and moves what its record says. */
export const entryRules: ReadonlyArray<LedgerRule> = [
  {
    rule: "entries_match_the_status",
    counted: "SELECT count(*) FROM transactions",
    broken: `
      WITH entries AS (
        SELECT app_id, reference, string_agg(phase, ',' ORDER BY phase) FILTER (WHERE phase <> 'correct') AS phases, min(mode) AS mode,
          bool_or(phase = 'correct') AS corrected
        FROM journal WHERE slot IS NOT NULL GROUP BY app_id, reference
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
      WITH recorded AS (${amountsOf("true")}),
      expected AS (
        SELECT t.app_id, t.reference, j.phase, j.currencies, j.accounts, j.amounts, e.account, CASE e.account WHEN 'fx_in' THEN t.destination_currency ELSE t.currency END AS currency,
          e.sign * CASE e.amount WHEN 'held' THEN t.held WHEN 'principal' THEN t.principal WHEN 'fees' THEN t.fees WHEN 'returned' THEN t.returned
            WHEN 'amount' THEN t.amount WHEN 'destination' THEN t.destination END AS amount
        FROM recorded t JOIN journal j ON j.app_id = t.app_id AND j.reference = t.reference
        JOIN (VALUES
          ('payout', 'reserve', 'reserved', 1, 'held'), ('payout', 'settle', 'reserved', -1, 'held'),
          ('payout', 'settle', 'paid_out', 1, 'principal'), ('payout', 'settle', 'provider_fees', 1, 'fees'),
          ('payout', 'release', 'reserved', -1, 'held'), ('payout', 'release', 'provider_fees', 1, 'fees'), ('payout', 'return', 'returned', -1, 'returned'),
          ('collection', 'collect', 'collected', -1, 'amount'), ('collection', 'collect', 'provider_fees', 1, 'fees'),
          ('exchange', 'reserve', 'reserved', 1, 'held'), ('exchange', 'release', 'reserved', -1, 'held'),
          ('exchange', 'exchange', 'reserved', -1, 'held'), ('exchange', 'exchange', 'fx_out', 1, 'amount'),
          ('exchange', 'exchange', 'fx_in', -1, 'destination')
        ) AS e(kind, phase, account, sign, amount) ON e.kind = t.kind AND e.phase = j.phase
      )
      SELECT x.app_id || '/' || x.reference || '/' || x.phase || '/' || x.account AS subject,
        'posted ' || coalesce(p.amount_minor, 0) || ', the record says ' || coalesce(x.amount, 0) AS found
      FROM expected x
      CROSS JOIN LATERAL (SELECT sum(l.amount) AS amount_minor FROM unnest(x.currencies, x.accounts, x.amounts) AS l(currency, account, amount)
        WHERE l.account = x.account AND l.currency = x.currency) p
      LEFT JOIN (SELECT DISTINCT app_id, reference FROM journal WHERE phase = 'correct') c ON c.app_id = x.app_id AND c.reference = x.reference
      WHERE coalesce(p.amount_minor, 0) <> coalesce(x.amount, 0) AND (x.account = 'reserved' OR c.app_id IS NULL)`
  },
  {
    rule: "corrections_make_the_record",
    counted: "SELECT count(*) FROM journal WHERE phase = 'correct'",
    broken: `
      WITH recorded AS (${amountsOf("(t.app_id, t.reference) IN (SELECT app_id, reference FROM journal WHERE phase = 'correct')")}),
      expected AS (
        SELECT t.app_id, t.reference, e.currency, e.account, CASE WHEN t.status = 'successful' THEN e.amount ELSE 0 END AS amount
        FROM recorded t CROSS JOIN LATERAL (VALUES
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
    rule: "corrections_are_one_a_case",
    counted: "SELECT count(*) FROM journal WHERE phase = 'correct'",
    // A reported fact opens a case, never a ruling: between two corrections of a record is a line of another actor.
    broken: `
      WITH lines AS (
        SELECT j.app_id, j.reference, j.slot, j.phase, j.revision,
          count(*) FILTER (WHERE j.actor <> 'review') OVER (PARTITION BY j.app_id, j.reference ORDER BY j.revision) AS news
        FROM (SELECT DISTINCT app_id, reference FROM journal WHERE phase = 'correct') c
        JOIN journal j ON j.app_id = c.app_id AND j.reference = c.reference
      ),
      corrections AS (
        SELECT app_id, reference, slot, news, row_number() OVER w AS number, lag(news) OVER w AS news_before
        FROM lines WHERE phase = 'correct' WINDOW w AS (PARTITION BY app_id, reference ORDER BY revision)
      )
      SELECT app_id || '/' || reference || '/' || slot AS subject, CASE WHEN news = news_before THEN 'a second correction of one case'
        ELSE 'it is correction ' || number || ' of its record' END AS found
      FROM corrections WHERE news = news_before OR slot <> CASE number WHEN 1 THEN 'correction' ELSE 'correction-' || number END`
  },
  {
    rule: "entries_have_a_cause",
    counted: "SELECT count(*) FROM float_adjustments",
    broken: `
      SELECT coalesce(j.app_id || '/' || j.reference || '/' || j.slot, a.app_id || '/' || a.reference) AS subject,
        CASE WHEN j.app_id IS NULL THEN 'an adjustment without its entry'
          WHEN j.phase NOT IN ('credit', 'debit') THEN 'an entry of no transaction'
          ELSE 'a ' || j.phase || ' that is not its adjustment''s' END AS found
      FROM (SELECT * FROM journal WHERE slot IS NOT NULL) j
      FULL JOIN float_adjustments a ON a.app_id = j.app_id AND a.reference = j.reference AND j.phase IN ('credit', 'debit')
      LEFT JOIN transactions t ON t.app_id = j.app_id AND t.reference = j.reference
      -- What a credit brings may have covered the receivable.
      LEFT JOIN LATERAL (
        SELECT p.currency, sum(p.amount) AS amount_minor FROM unnest(j.currencies, j.accounts, j.amounts) AS p(currency, account, amount)
        WHERE j.phase IN ('credit', 'debit') AND p.account IN ('available', 'receivable')
        GROUP BY p.currency
      ) p ON true
      WHERE CASE
        WHEN j.phase IN ('credit', 'debit') THEN a.direction IS DISTINCT FROM j.phase OR a.mode <> j.mode
          OR a.currency IS DISTINCT FROM p.currency OR p.amount_minor IS DISTINCT FROM CASE j.phase WHEN 'credit' THEN a.amount_minor ELSE -a.amount_minor END
        ELSE t.app_id IS NULL
      END`
  }
]

type Side = "source" | "destination"

// The postings that an entry may have, by the kind of its record: no others, and in no other currency. An adjustment has no record.
const source = (...accounts: ReadonlyArray<Account>) => accounts.map((account) => [account, "source"] as const)
const destination = (...accounts: ReadonlyArray<Account>) => accounts.map((account) => [account, "destination"] as const)
const postable: Readonly<Record<string, { readonly [P in Phase]?: ReadonlyArray<readonly [Account, Side]> }>> = {
  adjustment: { credit: source("available", "credited", "receivable"), debit: source("available", "debited", "receivable") },
  payout: {
    reserve: source("available", "reserved"),
    settle: source("available", "reserved", "paid_out", "provider_fees", "drift", "pool"),
    release: source("available", "reserved", "provider_fees"),
    return: source("available", "returned"),
    correct: source("available", "receivable", "paid_out", "provider_fees", "returned", "drift", "pool")
  },
  collection: {
    collect: source("available", "collected", "provider_fees"),
    correct: source("available", "receivable", "collected", "provider_fees")
  },
  exchange: {
    reserve: source("available", "reserved"),
    release: source("available", "reserved"),
    exchange: [...source("reserved", "fx_out"), ...destination("available", "fx_in")],
    correct: [...source("available", "receivable", "fx_out"), ...destination("available", "receivable", "fx_in")]
  }
}

const allowedPostings = Object.entries(postable).flatMap(([kind, phases]) =>
  Object.entries(phases).flatMap(([phase, accounts]) =>
    accounts.map(([account, side]) => `('${kind}', '${phase}', '${account}', '${side}')`)
  )
)

/** An entry is in its own slot and moves only its kind's accounts: otherwise balanced postings could be added. */
export const accountRules: ReadonlyArray<LedgerRule> = [
  {
    rule: "entries_stand_in_their_slot",
    counted: "SELECT count(*) FROM journal WHERE slot IS NOT NULL",
    broken: `
      SELECT j.app_id || '/' || j.reference || '/' || j.slot AS subject, 'a ' || j.phase || ' that stands where a second one could follow it' AS found
      FROM journal j LEFT JOIN (VALUES ${Object.entries(slotByPhase).map((one) => `('${one.join("', '")}')`)}) AS s(phase, slot)
        ON s.phase = j.phase AND s.slot = CASE j.phase WHEN 'correct' THEN regexp_replace(j.slot, '-([2-9]|[1-9][0-9]+)$', '') ELSE j.slot END
      WHERE s.phase IS NULL AND j.slot IS NOT NULL`
  },
  {
    rule: "slots_are_used_once",
    counted: "SELECT count(*) FROM journal WHERE slot IS NOT NULL",
    broken: `
      SELECT app_id || '/' || reference || '/' || slot AS subject, count(*) || ' entries in one slot' AS found
      FROM journal WHERE slot IS NOT NULL GROUP BY app_id, reference, slot HAVING count(*) > 1`
  },
  {
    rule: "records_know_their_slots",
    counted: "SELECT count(*) FROM transactions",
    // An entry in a slot that its record does not list could be posted twice.
    broken: `
      SELECT t.app_id || '/' || t.reference AS subject, 'it knows the slots [' || array_to_string(t.slots, ',') || '], its entries stand in ['
        || array_to_string(coalesce(j.slots, '{}'), ',') || ']' AS found
      FROM transactions t
      LEFT JOIN (SELECT app_id, reference, array_agg(slot) AS slots FROM journal WHERE slot IS NOT NULL GROUP BY 1, 2) j
        ON j.app_id = t.app_id AND j.reference = t.reference
      WHERE NOT (t.slots @> coalesce(j.slots, '{}') AND t.slots <@ coalesce(j.slots, '{}'))`
  },
  {
    rule: "entries_keep_to_their_accounts",
    counted: "SELECT count(*) FROM postings",
    broken: `
      WITH owner AS (
        SELECT app_id, reference, kind, well_formed(record)->>'currency' AS source, well_formed(record)->>'destinationCurrency' AS destination FROM transactions
        UNION ALL SELECT app_id, reference, 'adjustment', currency, NULL FROM float_adjustments
      )
      SELECT j.app_id || '/' || j.reference || '/' || j.slot AS subject,
        'a ' || j.phase || ' of the ' || o.kind || ' posts ' || p.amount || ' ' || p.currency || ' to ' || p.account || ', which is not its own' AS found
      FROM owner o JOIN journal j ON j.app_id = o.app_id AND j.reference = o.reference AND j.slot IS NOT NULL
      CROSS JOIN LATERAL unnest(j.currencies, j.accounts, j.amounts) AS p(currency, account, amount)
      LEFT JOIN (VALUES ${allowedPostings.join(", ")}) AS a(kind, phase, account, side)
        ON a.kind = o.kind AND a.phase = j.phase AND a.account = p.account AND CASE a.side WHEN 'source' THEN o.source ELSE o.destination END = p.currency
      WHERE a.kind IS NULL`
  }
]
