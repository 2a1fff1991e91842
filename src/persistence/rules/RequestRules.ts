import type { LedgerRule } from "../LedgerRule.ts"

/** What was asked for, by its key. */
export const requestRules: ReadonlyArray<LedgerRule> = [
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
  }
]
