import type { LedgerRule } from "../LedgerRule.ts"

const exchanges = `
  SELECT t.app_id, t.reference, t.mode, t.status, t.provider, r.* FROM transactions t
  CROSS JOIN LATERAL json_to_record(t.record) AS r("quoteId" text, amount bigint, currency text, "destinationAmount" bigint,
    "destinationCurrency" text, rate text)
  WHERE t.kind = 'exchange'`

/** An exchange is made of one quote, and brings what that promised. */
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
    // As long as the quote is kept. What came in may differ by a hundredth and two units; where a person established it, by more.
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
