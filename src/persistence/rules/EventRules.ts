import type { LedgerRule } from "../LedgerRule.ts"

/** What tenants are told. */
export const eventRules: ReadonlyArray<LedgerRule> = [
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
